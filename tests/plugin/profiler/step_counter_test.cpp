// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/limits.h"
#include "plugin/profiler/step_counter.h"

#include "support/catch.h"

#include <algorithm>
#include <vector>

using ncclprobe::plugin::StepCounter;
using ncclprobe::plugin::StepLimit;

namespace {

using Step = std::vector<std::uint64_t>;

Step equal_buckets_and_another(std::size_t equal) {
  Step step(equal, 1);
  step.push_back(2);
  return step;
}

// Of many layers, with a gather each, twice, and the reductions.
Step sharded(std::uint64_t layers) {
  Step step;
  for (std::uint64_t i = 0; i < layers; ++i)
    step.push_back(10);
  for (std::uint64_t i = 0; i < layers; ++i)
    step.insert(step.end(), {10, 20});
  step.push_back(30);
  return step;
}

} // namespace

TEST_CASE("steps are counted while they run, by the repeating sequence") {
  for (const Step& step :
       {Step{1}, Step{1, 2, 3}, equal_buckets_and_another(40), sharded(48), Step(200, 7)}) {
    CAPTURE(step.size());
    StepCounter counter;
    for (std::uint64_t prologue : {100, 101, 102})
      counter.add(prologue);

    for (int i = 0; i < 60; ++i)
      for (std::uint64_t one : step)
        counter.add(one);

    CHECK(counter.is_known());
    const bool is_one = std::ranges::equal(step, Step(step.size(), step.front()));
    CHECK(counter.period() == (is_one ? 1 : step.size()));
    const std::uint64_t steps = is_one ? 60 * step.size() : 60;
    CHECK(counter.steps() <= steps);
    CHECK(counter.steps() + 1 >= steps); // a period begins anywhere in a step
  }
}

TEST_CASE("a limit of steps waits until equal layers cannot be taken for them") {
  struct Case {
    Step step;
    std::uint64_t seen_at_least, seen_at_most; // steps of the job when 10 are over
  };
  Step layers; // 25 of three buckets each, as in a large vision transformer
  for (int i = 0; i < 25; ++i)
    layers.insert(layers.end(), {1, 2, 3});
  layers.insert(layers.end(), {4, 5, 6, 7});
  for (const Case& one : {Case{layers, 10, 12}, Case{equal_buckets_and_another(40), 10, 12},
                          Case{{1, 2, 3, 4, 5}, 10, 104}, Case{{1}, 10, 520}}) {
    CAPTURE(one.step.size());
    StepCounter counter;
    StepLimit limit(10);
    std::uint64_t seen = 0;
    bool over = false;
    for (; seen < 1000 && !over; ++seen)
      for (std::uint64_t signature : one.step) {
        counter.add(signature);
        over = over || limit.is_over(counter, 0);
      }

    CHECK(seen >= one.seen_at_least);
    CHECK(seen <= one.seen_at_most);
  }

  StepCounter slow;
  for (int i = 0; i < 60; ++i)
    slow.add(1);
  StepLimit limit(10);
  CHECK_FALSE(limit.is_over(slow, 1000));
  CHECK_FALSE(limit.is_over(slow, 999 + StepLimit::k_most_doubt_ns));
  CHECK(limit.is_over(slow, 1000 + StepLimit::k_most_doubt_ns));
}

TEST_CASE("a sequence that breaks and goes on keeps its count, and one without repeats has none") {
  StepCounter counter;
  auto repeat = [&](const Step& step, int times) {
    for (int i = 0; i < times; ++i)
      for (std::uint64_t one : step)
        counter.add(one);
  };
  repeat({1, 2, 3, 4}, 50);
  const std::uint64_t before = counter.steps();
  repeat({9, 9, 8}, 1); // a checkpoint
  CHECK_FALSE(counter.is_known());
  repeat({1, 2, 3, 4}, 200);
  CHECK(counter.period() == 4);
  CHECK(counter.steps() >= before + 195);
  CHECK(counter.steps() <= 250);

  StepCounter none;
  for (std::uint64_t i = 0; i < 3 * StepCounter::k_remembered; ++i)
    none.add(i * i);
  CHECK_FALSE(none.is_known());
  CHECK(none.steps() == 0);
}
