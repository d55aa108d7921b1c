// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/agreement.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::steps;
using namespace ncclprobe::analysis_test;

namespace {

constexpr std::int64_t k_us = 1000;

// Two steps on two ranks: computing 700 us, buckets 280 us, 120 us of them exposed.
std::vector<model::Mark> marks_with_lengths(const model::Schedule& schedule) {
  const StepLengths lengths{200 * k_us, 200 * k_us, 200 * k_us, 160 * k_us,
                            120 * k_us, 100 * k_us, 20 * k_us};
  std::vector<model::Mark> marks;
  for (int rank : {0, 1})
    for (int iteration : {0, 1})
      add_step(marks, schedule, rank, 0, iteration, lengths);
  return marks;
}

timeline::Timeline trace_of(std::int64_t exposed_us) {
  timeline::Timeline trace;
  for (int rank : {0, 1}) {
    auto& one = trace.ranks.emplace_back();
    one.rank = rank;
    one.cells[3].steps = 2;
    one.cells[3].parts = {.length_ns = 2 * 838 * k_us,
                          .communication_ns = 2 * 276 * k_us,
                          .compute_ns = 2 * 694 * k_us,
                          .exposed_transfer_ns = 2 * exposed_us * k_us};
  }
  return trace;
}

} // namespace

TEST_CASE("Marks and trace of a step agree within the noise") {
  auto schedule = step_schedule({0, 1});

  auto quantities = agreement(schedule, 2, marks_with_lengths(schedule), trace_of(116), 3);

  REQUIRE(quantities.size() == 4);
  CHECK(quantities[0].by_marks_ns == Approx(840 * k_us));
  CHECK(quantities[0].by_trace_ns == Approx(838 * k_us));
  CHECK(quantities[2].quantity == "communication");
  CHECK(quantities[2].noise_ns == Approx(6 * k_mark_ns)); // of the step and of two buckets
  for (const Agreement& one : quantities)
    CHECK(one.agrees());
  CHECK(in_words(quantities[1]) == "computation 0.700 and 0.694 ms");
  CHECK(quantities[2].by_marks_ns == Approx(280 * k_us));
  CHECK(quantities[2].by_trace_ns == Approx(276 * k_us));
  CHECK(quantities[3].by_marks_ns == Approx(120 * k_us));
  CHECK(quantities[3].by_trace_ns == Approx(116 * k_us));
}

TEST_CASE("Marks and trace that differ by more than the noise are told of") {
  auto schedule = step_schedule({0, 1});

  auto quantities = agreement(schedule, 2, marks_with_lengths(schedule), trace_of(100), 3);

  REQUIRE(quantities.size() == 4);
  CHECK(quantities[3].quantity == "communication (uncovered, exposed)");
  CHECK(quantities[3].by_marks_ns == Approx(120 * k_us));
  CHECK(quantities[3].by_trace_ns == Approx(100 * k_us));
  CHECK(std::ranges::count_if(quantities, &Agreement::agrees) == 3);
  CHECK_FALSE(quantities[3].agrees());
}

TEST_CASE("A cell that was not traced has nothing to agree with") {
  auto schedule = step_schedule({0, 1});
  CHECK(agreement(schedule, 2, marks_with_lengths(schedule), trace_of(116), 4).empty());
}
