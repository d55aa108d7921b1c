// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/step_marks/step_figures.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::steps;
using namespace ncclprobe::analysis_test;

namespace {

// Two ranks, batches of one step each: of rank 1 and rank 2, batch by batch.
std::vector<model::Mark> marks_of(const model::Schedule& schedule,
                                  const std::vector<std::pair<StepLengths, StepLengths>>& batches) {
  std::vector<model::Mark> marks;
  for (std::size_t batch = 0; batch < batches.size(); ++batch) {
    add_step(marks, schedule, 1, static_cast<int>(batch), 0, batches[batch].first);
    add_step(marks, schedule, 2, static_cast<int>(batch), 0, batches[batch].second);
  }
  return marks;
}

// The same steps in launches of two: the schedule has each of its operations twice.
void launch_in_pairs(model::Schedule& schedule, std::vector<model::Mark>& marks) {
  const auto size = static_cast<std::int32_t>(schedule.operations.size());
  const std::vector<model::Operation> once = schedule.operations;
  schedule.operations.insert(schedule.operations.end(), once.begin(), once.end());
  schedule.timed.last = 2 * size;
  for (model::Mark& mark : marks) {
    mark.operation += mark.iteration % 2 * size;
    mark.iteration /= 2;
  }
}

} // namespace

TEST_CASE("A step's time is split into its parts") {
  auto schedule = step_schedule({1, 2});

  auto figures = step_figures(schedule, 4, marks_of(schedule, {{{}, {}}}));

  REQUIRE(figures.has_value());
  // bucket 0 200-280 behind backward 2 (200-300), bucket 1 300-360 behind nothing.
  CHECK(figures->times == StepTimes{.step_ns = 420,
                                    .forward_ns = 100,
                                    .backward_ns = 200,
                                    .optimizer_ns = 50,
                                    .prepare_ns = 0,
                                    .compute_ns = 350,
                                    .communication_ns = 140,
                                    .hidden_ns = 80,
                                    .exposed_wait_ns = 0,
                                    .exposed_transfer_ns = 60,
                                    .idle_ns = 10,
                                    .transfer_ns = 140});
  CHECK(figures->stragglers_ns == 0);
  CHECK(figures->steps == 1);
}

TEST_CASE("What is left of an input copy when all else is done is exposed, and the parts add up") {
  auto schedule = step_schedule({1, 2}, model::StepParts::all, InputCopied::yes);
  StepLengths lengths{.copy = 500};

  auto figures = step_figures(schedule, 4, marks_of(schedule, {{lengths, lengths}}));

  REQUIRE(figures.has_value());
  const StepTimes& times = figures->times;
  CHECK(times.step_ns == 510);
  CHECK(times.copy_ns == 500);
  CHECK(times.exposed_copy_ns == 90); // the optimizer ends at 410
  CHECK(times.exposed_transfer_ns == 60);
  CHECK(times.compute_ns + times.exposed_ns() + times.exposed_copy_ns + times.idle_ns ==
        times.step_ns);
}

TEST_CASE("What a rank takes longer in a bucket than the fastest it has waited") {
  auto schedule = step_schedule({1, 2});
  // Rank 2 computes 40 ns longer: rank 1 waits for it in bucket 1.
  StepLengths first{.bucket_1 = 100}, second{.backward_2 = 140};

  auto figures = step_figures(schedule, 4, marks_of(schedule, {{first, second}}));

  REQUIRE(figures.has_value());
  CHECK(figures->ranks[1].exposed_wait_ns == 40);
  CHECK(figures->ranks[1].exposed_transfer_ns == 60);
  CHECK(figures->ranks[1].step_ns == 460);
  CHECK(figures->ranks[2].exposed_wait_ns == 0);
  CHECK(figures->ranks[2].exposed_transfer_ns == 60);
  CHECK(figures->times.exposed_wait_ns == Approx(20));
  CHECK(figures->stragglers_ns == Approx(20)); // always the same rank
  CHECK(figures->times.compute_ns + figures->times.exposed_ns() + figures->times.idle_ns ==
        Approx(figures->times.step_ns));
}

TEST_CASE("Ranks that wait for each other in turn are no stragglers") {
  auto schedule = step_schedule({1, 2});
  StepLengths waits{.bucket_1 = 100}, late{.backward_2 = 140};

  auto figures = step_figures(schedule, 4, marks_of(schedule, {{waits, late}, {late, waits}}));

  REQUIRE(figures.has_value());
  CHECK(figures->times.exposed_wait_ns == Approx(20));
  CHECK(figures->stragglers_ns == Approx(0));
}

TEST_CASE("The step time is the median over batches, its parts the mean shares of it") {
  auto schedule = step_schedule({1, 2});
  StepLengths usual, slow{.idle = 430}; // 420 and 840 ns

  auto figures =
      step_figures(schedule, 4, marks_of(schedule, {{usual, usual}, {slow, slow}, {usual, usual}}));

  REQUIRE(figures.has_value());
  CHECK(figures->times.step_ns == Approx(420));
  CHECK(figures->times.idle_ns == Approx(420 * 450.0 / 1680));
  CHECK(figures->times.compute_ns == Approx(420 * 1050.0 / 1680));
}

TEST_CASE("A bucket's timeline is the median of its moments since the step's begin") {
  auto schedule = step_schedule({1, 2});
  StepLengths lengths{.bucket_0 = 130}; // bucket 1 has to wait for it

  auto figures = step_figures(schedule, 4, marks_of(schedule, {{lengths, lengths}}));

  REQUIRE(figures.has_value());
  REQUIRE(figures->buckets.size() == 2);
  CHECK(figures->buckets[0] == BucketTimes{"bucket 0", {1, 2}, 200, 200, 330, 130, true});
  CHECK(figures->buckets[1] == BucketTimes{"bucket 1", {1, 2}, 300, 330, 390, 60, true});
}

TEST_CASE("Steps that one launch runs count each") {
  model::Schedule schedule = step_schedule({1, 2});
  std::vector<model::Mark> marks;
  for (int rank : {1, 2})
    for (int iteration : {0, 1, 2, 3})
      add_step(marks, schedule, rank, 0, iteration, {.bucket_0 = iteration == 2 ? 130 : 80});
  const auto alone = step_figures(schedule, 4, marks);
  launch_in_pairs(schedule, marks);

  const auto pairs = step_figures(schedule, 4, marks);

  REQUIRE(alone.has_value());
  REQUIRE(pairs.has_value());
  CHECK(alone->times.step_ns > 0);
  CHECK(pairs->times == alone->times);
  CHECK(pairs->buckets == alone->buckets);
  CHECK(pairs->steps == alone->steps);
  CHECK(alone->steps_per_launch == 1);
  CHECK(pairs->steps_per_launch == 2);
}

TEST_CASE("Parts of a step that are left out leave no trace in its figures") {
  auto only = step_schedule({1, 2}, model::StepParts::communication);

  auto figures = step_figures(only, 4, marks_of(only, {{{}, {}}}));

  REQUIRE(figures.has_value());
  CHECK(figures->times.compute_ns == 0);
  CHECK(figures->times.communication_ns == 140);
  CHECK(figures->times.exposed_transfer_ns == 140);
  CHECK(figures->times.step_ns == 150);
}

TEST_CASE("A cell without marks has no figures") {
  auto figures = step_figures(step_schedule({1, 2}), 4, {});

  REQUIRE_FALSE(figures.has_value());
  CHECK(figures.error().code == base::Errc::not_found);
}
