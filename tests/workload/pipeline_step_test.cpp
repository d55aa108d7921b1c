// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/models/catalogue.h"
#include "workload/pipeline_step.h"
#include "workload/schedule_rules.h"
#include "workload/step_cells.h"
#include "workload/step_schedules.h"

#include <algorithm>
#include <deque>
#include <map>

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;
using tests::first_ranks;
using tests::timed;

namespace {

StepRequest gpt2() {
  StepRequest request;
  request.pattern = StepPattern::pipeline;
  request.model = make_model("gpt2-124m").value();
  request.batch = 16;
  return request;
}

Schedule pipeline(const StepRequest& request, int ranks, StepParts parts = StepParts::all) {
  auto made = make_pipeline_step(request, {ranks, first_ranks(ranks), parts});
  REQUIRE(made.has_value());
  return *made;
}

// A rank's work on its communication stream: groups of transfers, positive to and negative from a
// neighbour, numbered from 1.
using Group = std::vector<int>;
std::deque<Group> groups_of(const Schedule& schedule, int rank) {
  std::deque<Group> groups;
  for (const Operation& operation : schedule.operations) {
    if (!names_rank(operation.ranks, rank))
      continue;
    if (std::holds_alternative<GroupBeginOp>(operation.what))
      groups.emplace_back();
    else if (const auto* send = std::get_if<SendOp>(&operation.what))
      groups.back().push_back(send->to.value + 1);
    else if (const auto* receive = std::get_if<RecvOp>(&operation.what))
      groups.back().push_back(-(receive->from.value + 1));
  }
  return groups;
}

// Whether all ranks reach the end if a group completes only after each of its transfers has met the
// other side's group, as in NCCL without a buffer.
bool comes_to_an_end(const Schedule& schedule, int ranks) {
  std::map<int, std::deque<Group>> left;
  for (int rank = 0; rank < ranks; ++rank)
    left[rank] = groups_of(schedule, rank);
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < ranks; ++rank) {
      if (left[rank].empty())
        continue;
      Group& group = left[rank].front();
      for (int& transfer : group) {
        int other = std::abs(transfer) - 1;
        if (left[other].empty())
          continue;
        Group& theirs = left[other].front();
        int wanted = transfer > 0 ? -(rank + 1) : rank + 1;
        auto found = std::find(theirs.begin(), theirs.end(), wanted);
        if (found == theirs.end())
          continue;
        theirs.erase(found);
        transfer = 0;
        moved = true;
      }
      std::erase(group, 0);
      for (auto& [one, groups] : left)
        while (!groups.empty() && groups.front().empty())
          groups.pop_front();
    }
  }
  return std::all_of(left.begin(), left.end(), [](const auto& one) { return one.second.empty(); });
}

} // namespace

TEST_CASE("steps of a pipeline are sound, and nobody waits for ever") {
  for (PipelineOrder order : {PipelineOrder::one_f_one_b, PipelineOrder::gpipe})
    for (int micro_batches : {0, 1, 2, 8})
      for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication})
        for (int ranks : {1, 2, 3, 4, 8}) {
          StepRequest request = gpt2();
          request.order = order;
          request.micro_batches = micro_batches;
          CAPTURE(to_string(order), micro_batches, to_string(parts), ranks);

          Schedule schedule = pipeline(request, ranks, parts);

          auto checked = check_schedule(schedule, ranks);
          CHECK((checked ? "" : checked.error().message) == "");
          CHECK(tests::marker_fault(schedule, ranks) == "");
          CHECK(comes_to_an_end(schedule, ranks));
        }
}

TEST_CASE("stages are neighbouring blocks with about the same work") {
  ModelSpec model = make_model("llama3-8b").value();
  for (int stages : {1, 2, 4, 8}) {
    auto made = pipeline_stages(model, stages);
    REQUIRE(made.size() == static_cast<std::size_t>(stages));
    CHECK(made.front().first == 0);
    CHECK(made.back().second == model.layers.size());
    for (std::size_t i = 1; i < made.size(); ++i) {
      CHECK(made[i].first == made[i - 1].second);
      CHECK(model.layers[made[i].first].block != model.layers[made[i].first - 1].block);
    }
  }
  CHECK(pipeline_stages(make_model("gpt2-124m").value(), 100).size() == 12);
  CHECK(pipeline_stages(tests::small_model(), 2)[1].first == 3);
}

TEST_CASE("1f1b has the order of its name") {
  StepRequest request = gpt2();
  request.batch = 6;
  request.micro_batches = 3;
  Schedule schedule = pipeline(request, 2);

  CHECK(tests::stretches(schedule, 0, 0) ==
        std::vector<std::string>{"forward 0", "forward 1", "backward 0", "forward 2", "backward 1",
                                 "backward 2", "optimizer"});
  CHECK(tests::stretches(schedule, 0, 1) ==
        std::vector<std::string>{"forward 0", "backward 0", "forward 1", "backward 1", "forward 2",
                                 "backward 2", "optimizer"});
  request.order = PipelineOrder::gpipe;
  CHECK(tests::stretches(pipeline(request, 2), 0, 1) ==
        std::vector<std::string>{"forward 0", "forward 1", "forward 2", "backward 0", "backward 1",
                                 "backward 2", "optimizer"});
}

TEST_CASE("a rank gives activations to the next stage, and their gradients to the one before") {
  StepRequest request = gpt2();
  std::uint64_t output = 4 * request.batch * request.model.sequence * 768; // of all micro-batches
  for (int ranks : {2, 4, 8})
    for (int micro_batches : {1, 4, 16}) {
      request.micro_batches = micro_batches;
      Schedule schedule = pipeline(request, ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        bool inner = rank > 0 && rank < ranks - 1;
        CHECK(given_bytes(schedule, rank, ranks) == output * (inner ? 2 : 1));
      }
    }
}

TEST_CASE("what cannot be cut is refused") {
  StepRequest request = gpt2();
  auto refusal = [&](int ranks) {
    auto made = make_pipeline_step(request, {ranks, first_ranks(ranks), StepParts::all});
    return made ? "" : made.error().message;
  };
  CHECK(refusal(16) == "gpt2-124m can be cut into 12 stages, not into 16");
  request.micro_batches = 5;
  CHECK(refusal(2) == "a batch of 16 does not divide into 5 micro-batches");
  request.micro_batches = 0;
  request.accumulate = 2;
  CHECK_THAT(refusal(2), ContainsSubstring("--micro-batches"));
}
