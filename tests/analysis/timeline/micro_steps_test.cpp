// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/micro_steps.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

constexpr std::uint64_t k_update_ns = 1'000;
constexpr int k_updates = 5; // the end of the last one is not known

// Each step sends its gradients once, at 700 ns of it.
class AccumulatingJob {
public:
  AccumulatingJob() {
    for (std::uint32_t step = 0; step < k_updates; ++step) {
      const std::uint64_t at_ns = step * k_update_ns + 700;
      rank_.nccl(step, {static_cast<std::int64_t>(at_ns), static_cast<std::int64_t>(at_ns + 10)},
                 rank_.operation({0, 0, step}));
      rank_.trace.nccl_operations.back().enqueue_ns = at_ns;
    }
  }
  void range(int step, std::uint64_t from_ns, std::uint64_t to_ns, const std::string& name,
             std::uint8_t level = 0) {
    trace::RangeRow row;
    row.start_ns = static_cast<std::uint64_t>(step) * k_update_ns + from_ns;
    row.end_ns = static_cast<std::uint64_t>(step) * k_update_ns + to_ns;
    row.name = {static_cast<std::uint32_t>(texts_.size())};
    row.level = level;
    row.thread = 1;
    texts_.push_back(name);
    rank_.trace.ranges.push_back(row);
  }
  MicroStepCounts counts() const {
    const ByCell<MicroStepCounts> all =
        micro_steps_of(rank_.trace, OperationIndex(rank_.trace.operations), texts_);
    return all.contains(0) ? all.at(0) : MicroStepCounts();
  }

private:
  RankBuilder rank_;
  std::vector<std::string> texts_ = texts();
};

} // namespace

TEST_CASE("Names of ranges tell a pass of a micro-step from other work") {
  for (const char* name : {"forward", "Forward 3", "fwd_step", "forward pass", "micro-batch 2",
                           "microbatch", "micro_step_0", "accumulation step"}) {
    CAPTURE(name);
    CHECK(names_micro_step(name));
  }
  for (const char* name : {"", "7", "step", "batch", "Linear.forward", "forward_backward",
                           "backward", "attention fwd", "load batch"}) {
    CAPTURE(name);
    CHECK_FALSE(names_micro_step(name));
  }
}

TEST_CASE("Micro-steps without collectives are counted by the program's ranges") {
  AccumulatingJob job;
  for (int step = 0; step < k_updates; ++step)
    for (std::uint64_t micro = 0; micro < 3; ++micro) {
      job.range(step, 250 * micro, 250 * micro + 240, "micro_step_" + std::to_string(micro));
      job.range(step, 250 * micro, 250 * micro + 100, "forward", 1);
      job.range(step, 250 * micro + 10, 250 * micro + 20, "forward", 2); // of a part of the model
      job.range(step, 250 * micro + 100, 250 * micro + 240, "backward", 1);
    }

  // From the first call of a step to that of the next one.
  CHECK(job.counts() == MicroStepCounts{{3, k_updates - 1}});
}

TEST_CASE("Ranges that disagree about the number of micro-steps do not count") {
  AccumulatingJob job;
  for (int step = 0; step < k_updates; ++step) {
    job.range(step, 0, 600, "micro-batch");
    for (std::uint64_t layer = 0; layer < 4; ++layer)
      job.range(step, 100 * layer, 100 * layer + 50, "forward", 1);
  }

  CHECK(job.counts().empty());
}
