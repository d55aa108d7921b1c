// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/found_steps.h"
#include "analysis/job/made_job.h"
#include "analysis/job/step_use.h"
#include "analysis/timeline/timeline.h"
#include "analysis/timeline/trace_window.h"
#include "support/catch.h"

#include <fmt/format.h>

#include <random>
#include <set>

using namespace ncclprobe;
using namespace ncclprobe::analysis::job;

namespace {

FoundSteps found(const MadeJob& job) {
  return base::value_or_throw(find_steps(job.source()));
}

// Steps of each kind, and how many operations of all are in steps.
struct Expected {
  std::vector<std::uint64_t> steps;
  std::uint64_t outside = 0; // operations of all ranks
};

void check(const MadeJob& job, const Expected& expected) {
  const FoundSteps steps = found(job);
  REQUIRE(steps.reason == NoSteps::found);
  std::vector<std::uint64_t> of_kinds;
  for (const StepKind& kind : steps.kinds)
    of_kinds.push_back(kind.steps);
  CHECK(of_kinds == expected.steps);
  CHECK(steps.operations() - steps.in_steps() == expected.outside);
  std::uint64_t in_batches = 0, of_all_kinds = 0;
  for (const StepBatch& batch : steps.batches)
    in_batches += batch.steps;
  for (const StepKind& kind : steps.kinds)
    of_all_kinds += kind.steps;
  CHECK(in_batches == of_all_kinds);
  for (const RankSteps& rank : steps.ranks)
    CHECK(rank.out_of_order == 0);
}

// The operations of each step, by the sums of their sizes, are the same on all ranks that have
// equal roles.
std::set<std::pair<std::uint32_t, std::uint32_t>> shapes(const RankSteps& rank) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const StepStretch& stretch : rank.stretches)
    out.emplace(stretch.operations, stretch.steps);
  return out;
}

void ddp_step(MadeJob& job, int world, std::initializer_list<std::uint64_t> buckets) {
  job.compute(20 * k_ms); // forward pass
  for (std::uint64_t bytes : buckets) {
    job.compute(2 * k_ms);
    job.collective(world, "AllReduce", bytes);
  }
}

} // namespace

TEST_CASE("Steps of data-parallel training are found between warm-up, logging and the end") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (int i = 0; i < 5; ++i)
    job.collective(world, "Broadcast", 10 * k_mib);
  ddp_step(job, world, {77 * k_mib, k_mib}); // the first step has other buckets
  for (int step = 0; step < 60; ++step) {
    ddp_step(job, world, {25 * k_mib, 30 * k_mib, 25 * k_mib, k_mib});
    if (step % 10 == 4)
      job.collective(world, "AllReduce", 4); // a logged loss belongs to its step
  }
  job.compute(22 * k_ms);
  job.collective(world, "AllReduce", 25 * k_mib); // cut within a step
  check(job, {{60}, 2 * (5 + 2 + 1)});
  const FoundSteps steps = found(job);
  CHECK(steps.batches.size() == 1);
  REQUIRE(steps.kinds[0].parts.size() == 4);
  CHECK(steps.kinds[0].parts[0].bytes == 25 * k_mib); // after the forward pass
  CHECK(steps.kinds[0].parts[3].bytes == k_mib);
}

TEST_CASE("Gradients of a data group are numbered buckets, other operations are not") {
  MadeJob job(4);
  const std::vector<int> tensor{job.communicator({0, 1}), job.communicator({2, 3})};
  const std::vector<int> data{job.communicator({0, 2}), job.communicator({1, 3})};
  auto on = [&](const std::vector<int>& groups, std::uint64_t bytes) {
    for (int group : groups)
      job.collective(group, "AllReduce", bytes);
  };
  for (int step = 0; step < 20; ++step) {
    job.compute(10 * k_ms);
    for (int layer = 0; layer < 24; ++layer)
      on(tensor, 16 * k_mib);
    on(data, 25 * k_mib);
    on(data, 25 * k_mib);
    on(data, 9 * k_mib);
    on(data, 4); // a loss
  }

  const std::vector<StepPart> parts = found(job).kinds.at(0).parts;

  std::vector<std::size_t> buckets;
  for (const StepPart& part : parts)
    buckets.push_back(part.first_bucket);
  CHECK(buckets == std::vector<std::size_t>{0, 1, 3, 0}); // 1 and 2 are equal
}

TEST_CASE("A loss that every second step logs makes no step of two") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (int step = 0; step < 60; ++step) {
    ddp_step(job, world, {25 * k_mib, 30 * k_mib, 25 * k_mib, k_mib});
    if (step % 2 == 1 && step < 59)
      job.collective(world, "AllReduce", 4);
  }
  check(job, {{60}, 0});
}

TEST_CASE("A logged loss within a step belongs to it") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (int step = 0; step < 60; ++step) {
    job.compute(20 * k_ms);
    job.collective(world, "AllReduce", 25 * k_mib);
    if (step % 12 == 7)
      job.collective(world, "AllReduce", 4);
    for (int bucket = 0; bucket < 8; ++bucket)
      job.collective(world, "AllReduce", 30 * k_mib);
  }
  check(job, {{60}, 0});
}

TEST_CASE("Many equal buckets are one step, not as many") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (int step = 0; step < 30; ++step) {
    job.compute(50 * k_ms);
    for (int bucket = 0; bucket < 40; ++bucket) {
      job.compute(k_ms);
      job.collective(world, "AllReduce", 25 * k_mib);
    }
    job.collective(world, "AllReduce", k_mib);
  }
  check(job, {{30}, 0});
}

TEST_CASE("Equal groups of buckets within a step are no steps") {
  MadeJob job(2); // as torchvision's vit_l_16
  const int world = job.communicator({0, 1});
  for (int step = 0; step < 25; ++step) {
    job.compute(20 * k_ms);
    job.collective(world, "AllReduce", 4 * k_mib);
    for (int layer = 0; layer < 12; ++layer)
      for (const std::uint64_t bytes : {32 * k_mib, 32 * k_mib + 8192, 32 * k_mib + 12288}) {
        job.compute(k_ms);
        job.collective(world, "AllReduce", bytes);
      }
    job.collective(world, "AllReduce", 3 * k_mib);
    if (step % 10 == 9)
      job.collective(world, "AllReduce", 4);
  }
  check(job, {{25}, 0});
}

TEST_CASE("Evaluations are steps of another kind") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (int step = 0; step < 100; ++step) {
    ddp_step(job, world, {25 * k_mib, 30 * k_mib, k_mib});
    for (int batch = 0; step % 20 == 19 && batch < 9; ++batch) {
      job.compute(8 * k_ms);
      job.collective(world, "AllGather", 2 * k_mib);
    }
  }
  check(job, {{100, 45}, 0});
  CHECK(found(job).batches.size() == 10);
  CHECK(step_uses(found(job)) == std::vector{StepUse::training, StepUse::evaluation});
}

TEST_CASE("A step has all micro-steps of tensor-parallel training, and the gradients") {
  MadeJob job(4);
  const std::vector<int> tensor{job.communicator({0, 1}), job.communicator({2, 3})};
  const std::vector<int> data{job.communicator({0, 2}), job.communicator({1, 3})};
  auto on = [&](const std::vector<int>& groups, std::uint64_t bytes) {
    for (int group : groups)
      job.collective(group, "AllReduce", bytes);
  };
  for (int step = 0; step < 20; ++step) {
    job.compute(10 * k_ms);
    for (int micro_step = 0; micro_step < 4; ++micro_step)
      for (int layer = 0; layer < 24; ++layer) {
        job.compute(k_ms);
        on(tensor, 16 * k_mib);
      }
    on(data, 100 * k_mib);
    on(data, 30 * k_mib);
  }
  check(job, {{20}, 0});
  for (const RankSteps& rank : found(job).ranks)
    CHECK(shapes(rank) == std::set{std::pair{98u, 20u}});
}

TEST_CASE("Sharded training is found from all-gathers and reduce-scatters in turns") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (int step = 0; step < 25; ++step) {
    job.compute(5 * k_ms);
    for (int layer = 0; layer < 16; ++layer) {
      job.compute(k_ms);
      job.collective(world, "AllGather", 50 * k_mib);
    }
    for (int layer = 0; layer < 16; ++layer) {
      job.compute(2 * k_ms);
      job.collective(world, "AllGather", 50 * k_mib);
      job.collective(world, "ReduceScatter", 50 * k_mib);
    }
  }
  check(job, {{25}, 0});
  CHECK(found(job).kinds[0].parts.size() == 2 + 15 * 2);
}

// 2 stages of 2 x 2 ranks: tensor groups {0,1} {2,3} {4,5} {6,7}, data groups {0,2} ..., and
// pipelines {0,4} {1,5} {2,6} {3,7}.
TEST_CASE("All ranks of a pipeline agree on steps, although their operations differ") {
  MadeJob job(8);
  std::vector<int> tensor, data, pipeline;
  for (int first : {0, 2, 4, 6})
    tensor.push_back(job.communicator({first, first + 1}));
  for (int first : {0, 1, 4, 5})
    data.push_back(job.communicator({first, first + 2}));
  for (int first : {0, 1, 2, 3})
    pipeline.push_back(job.communicator({first, first + 4}));
  auto layers = [&](int stage) {
    for (int layer = 0; layer < 6; ++layer)
      for (int group : {2 * stage, 2 * stage + 1}) {
        job.compute(k_ms / 2);
        job.collective(tensor[static_cast<std::size_t>(group)], "AllReduce", 8 * k_mib);
      }
  };
  for (int step = 0; step < 12; ++step) {
    job.compute(30 * k_ms);
    for (int micro_step = 0; micro_step < 3; ++micro_step) {
      layers(0);
      for (int group : pipeline)
        job.message(group, 0, 1, 4 * k_mib);
      layers(1);
    }
    for (int micro_step = 0; micro_step < 3; ++micro_step) {
      layers(1);
      for (int group : pipeline)
        job.message(group, 1, 0, 4 * k_mib);
      layers(0);
    }
    for (int group : data)
      job.collective(group, "AllReduce", 60 * k_mib);
  }
  check(job, {{12}, 0});
  for (const RankSteps& rank : found(job).ranks)
    CHECK(shapes(rank) == std::set{std::pair{36u + 6u + 1u, 12u}});
  CHECK(step_uses(found(job)) == std::vector{StepUse::training});
}

TEST_CASE("Exchanges of experts, whose sizes always differ, do not hide the steps") {
  MadeJob job(4);
  const int world = job.communicator({0, 1, 2, 3});
  std::mt19937 random(3);
  for (int step = 0; step < 20; ++step) {
    job.compute(10 * k_ms);
    for (int layer = 0; layer < 4; ++layer)
      for (int from = 0; from < 4; ++from)
        for (int to = 0; to < 4; ++to)
          job.message(world, from, to, 4 * (1 + random() % 100'000));
    job.collective(world, "AllReduce", 80 * k_mib);
  }
  check(job, {{20}, 0});
}

TEST_CASE("Each size of a benchmark is a kind of its own") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (std::uint64_t bytes = k_mib; bytes <= 16 * k_mib; bytes *= 2)
    for (int i = 0; i < 25; ++i)
      job.collective(world, "AllReduce", bytes);
  check(job, {{25, 25, 25, 25, 25}, 0});
  CHECK(step_uses(found(job)) == std::vector(5, StepUse::unknown));
}

TEST_CASE("Jobs that share nothing have steps of their own") {
  MadeJob job(4);
  const std::vector<int> groups{job.communicator({0, 3}), job.communicator({1, 2})};
  for (int step = 0; step < 20; ++step) {
    ddp_step(job, groups[0], {25 * k_mib, k_mib});
    if (step % 2 == 0)
      ddp_step(job, groups[1], {40 * k_mib, 9 * k_mib, k_mib});
  }
  check(job, {{20, 10}, 0});
}

TEST_CASE("There are no steps without repeats, and it says why") {
  MadeJob silent(2);
  CHECK(found(silent).reason == NoSteps::no_operations);
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i)
    job.collective(world, random() % 2 == 0 ? "AllReduce" : "AllGather", 4 * (1 + random() % 5));
  const FoundSteps none = found(job);
  CHECK(none.reason == NoSteps::no_repeats);
  CHECK(none.operations() == 1000);
  CHECK(none.in_steps() == 0);
  CHECK(none.ranks.size() == 2);
}

TEST_CASE("Found steps serve as marked ones, and the last of a batch has no length") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (int step = 0; step < 30; ++step) {
    job.compute(1, step % 5 == 4 ? 3 * k_ms : 0);
    ddp_step(job, world, {25 * k_mib, k_mib});
  }
  const auto steps = std::make_shared<const FoundSteps>(found(job));
  const auto source = with_steps(job.source(), steps);
  const auto timeline = base::value_or_throw(analysis::timeline::analyse(source));
  REQUIRE(timeline.ranks.size() == 2);
  const auto& cell = timeline.ranks[0].cells.at(0);
  CHECK(cell.steps == 29);
  // Each of 20 + 2 + 2 ms and two transfers; in five of them rank 0 waits 3 ms for rank 1.
  const std::int64_t transfers_ns = 2 * 10'000 + static_cast<std::int64_t>(26 * k_mib / 100);
  CHECK(cell.parts.length_ns == 29 * (24 * k_ms + transfers_ns) + 5 * 3 * k_ms);
  const auto& late = timeline.stragglers.at(0);
  CHECK(late.per_step);
  CHECK(late.steps == 30);
  CHECK(late.ranks[1].times_last == 6);
  CHECK(base::value_or_throw(find_steps(source)).reason == NoSteps::marked);
}

TEST_CASE("A window of found steps shows lengths of steps whose end is in it") {
  MadeJob job(2);
  const int world = job.communicator({0, 1});
  for (int step = 0; step < 30; ++step)
    ddp_step(job, world, {25 * k_mib, k_mib});
  const auto source = with_steps(job.source(), std::make_shared<const FoundSteps>(found(job)));
  auto steps_of = [&](const char* window) {
    analysis::Finding told;
    const auto part = base::value_or_throw(analysis::timeline::restricted(
        source, base::value_or_throw(analysis::timeline::parse_window(window)), told));
    return base::value_or_throw(analysis::timeline::analyse(part)).ranks[0].cells.at(0);
  };
  const auto four = steps_of("step:3-6");
  CHECK(four.steps == 3);
  const auto all = base::value_or_throw(analysis::timeline::analyse(source)).ranks[0].cells.at(0);
  CHECK(four.parts.length_ns * 29 == all.parts.length_ns * 3);
  CHECK(steps_of("step:3").steps == 1);
}
