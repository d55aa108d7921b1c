// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/phases.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

constexpr std::uint64_t k_step_ns = 1'000;
constexpr int k_steps = 5; // the end of the last one is not known

// Steps from 1000 ns on, with one operation each, and ranges.
class PhasedJob {
public:
  PhasedJob() {
    for (std::uint32_t step = 0; step < k_steps; ++step) {
      const std::uint64_t at_ns = (1 + step) * k_step_ns;
      rank_.nccl(step, {static_cast<std::int64_t>(at_ns), static_cast<std::int64_t>(at_ns + 10)},
                 rank_.operation({0, 0, step}));
      rank_.trace.nccl_operations.back().enqueue_ns = at_ns;
    }
  }
  void range(std::uint64_t start_ns, std::uint64_t end_ns, const std::string& name,
             std::uint8_t level = 0, std::uint32_t thread = 1,
             trace::RangeKind kind = trace::RangeKind::nested) {
    trace::RangeRow row;
    row.start_ns = start_ns;
    row.end_ns = end_ns;
    row.name = text(name);
    row.level = level;
    row.thread = thread;
    row.kind = kind;
    rank_.trace.ranges.push_back(row);
  }
  ByCell<Phases> phases() const {
    const OperationIndex operations(rank_.trace.operations);
    return phases_of(rank_.trace, operations, NumberedNames(texts_));
  }

private:
  trace::TextId text(const std::string& text) {
    texts_.push_back(text);
    return {static_cast<std::uint32_t>(texts_.size() - 1)};
  }
  RankBuilder rank_;
  std::vector<std::string> texts_ = texts();
};

PhasePath path(std::vector<std::string> names) {
  PhasePath path;
  for (std::string& name : names)
    path.push_back({std::move(name), ""});
  return path;
}

using PhaseTimes = std::map<PhasePath, std::int64_t>;

} // namespace

TEST_CASE("phases are the outermost two levels of ranges, within steps") {
  PhasedJob job;
  for (std::uint64_t step = 0; step < k_steps; ++step) {
    const std::uint64_t at_ns = (1 + step) * k_step_ns;
    job.range(at_ns + 200, at_ns + 250, "gemm", 2); // rows come in the order of their ends
    job.range(at_ns + 200, at_ns + 300, "attention", 1);
    job.range(at_ns + 100, at_ns + 500, "forward");
    job.range(at_ns + 600, at_ns + 700, "attention");
  }

  const auto phases = job.phases();

  REQUIRE(phases.size() == 1);
  CHECK(phases.at(0).steps == 4);
  CHECK(phases.at(0).length_ns == 4'000);
  CHECK(phases.at(0).ns == PhaseTimes{{path({"forward"}), 1'600},
                                      {path({"forward", "attention"}), 400},
                                      {path({"attention"}), 400}});
}

TEST_CASE("a range that only overlaps another one is not within it") {
  PhasedJob job;
  job.range(500, 1'000, "init"); // ends when the first step begins
  job.range(900, 1'300, "load", 1);
  job.range(2'100, 2'500, "first");
  job.range(2'400, 2'900, "second", 1);
  job.range(2'600, 2'700, "inner", 1);

  CHECK(job.phases().at(0).ns == PhaseTimes{{path({"load"}), 300},
                                            {path({"first"}), 400},
                                            {path({"second"}), 500},
                                            {path({"second", "inner"}), 100}});
}

TEST_CASE("a range over the border of two steps belongs to both, and one over many to none") {
  PhasedJob job;
  job.range(500, 20'000, "training");
  job.range(600, 4'500, "epoch", 1);
  job.range(1'900, 2'100, "load", 2);
  job.range(2'950, 4'050, "iteration", 2); // longer than a step, but it covers one only

  CHECK(job.phases().at(0).ns == PhaseTimes{{path({"load"}), 200}, {path({"iteration"}), 1'100}});
}

TEST_CASE("time of a phase in several threads counts once, and threads contain no others") {
  PhasedJob job;
  job.range(2'100, 2'300, "load", 0, 1);
  job.range(2'200, 2'400, "load", 0, 2);
  job.range(2'100, 2'900, "read", 0, 3, trace::RangeKind::free);
  job.range(2'200, 2'800, "read", 0, 3, trace::RangeKind::free);

  CHECK(job.phases().at(0).ns == PhaseTimes{{path({"load"}), 300}, {path({"read"}), 800}});
}

TEST_CASE("names that differ only in many numbers are one phase") {
  PhasedJob job;
  for (std::size_t i = 0; i <= NumberedNames::k_most_numbered; ++i) {
    job.range(2'000 + 10 * i, 2'005 + 10 * i, "block " + std::to_string(i) + "/b");
    if (i > 0)
      job.range(3'000 + 10 * i, 3'005 + 10 * i, "layer " + std::to_string(i));
  }

  const auto phases = job.phases();

  CHECK(phases.at(0).ns.at(path({"block #/b"})) == 17 * 5);
  CHECK(phases.at(0).ns.at(path({"layer 16"})) == 5);
}

TEST_CASE("a trace without ranges has no phases") {
  CHECK(PhasedJob().phases().empty());
}
