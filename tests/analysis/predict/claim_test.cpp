// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/claim.h"
#include "support/catch.h"

#include <algorithm>

using namespace ncclprobe::analysis::cost_model;

TEST_CASE("A claim says how much of the step must be exposed") {
  auto verdict = judge_claim({-0.09, -0.07, {}, {}});

  CHECK(verdict.possible);
  CHECK(*verdict.implied_share == Approx(7.0 / 9));
  CHECK(verdict.text == "A sync time 9% lower that makes a step 7% shorter means that 78% of "
                        "the step is exposed communication, or communication that queues.");
}

TEST_CASE("No step can gain more than its communication") {
  auto verdict = judge_claim({-0.05, -0.07, {}, {}});

  CHECK_FALSE(verdict.possible);
  CHECK_THAT(verdict.text,
             ContainsSubstring("140% of the step is exposed communication: impossible "
                               "if computing is unchanged"));
}

TEST_CASE("A faster sync does not make a step longer, nor does none make a difference") {
  CHECK_FALSE(judge_claim({-0.05, 0.02, {}, {}}).possible);
  CHECK_FALSE(judge_claim({0, -0.02, {}, {}}).possible);
  CHECK(judge_claim({-0.05, 0, {}, {}}).implied_share == 0.0);
  CHECK(judge_claim({0, 0, 0.2, {}}).fits);
}

TEST_CASE("A claim is held against the shares that were measured") {
  auto wrong = judge_claim({-0.09, -0.07, 0.2, 0.3});
  CHECK(wrong.possible);
  CHECK_FALSE(wrong.fits);
  CHECK(*wrong.least_step_change == Approx(-0.018));
  CHECK(*wrong.most_step_change == Approx(-0.027));
  CHECK_THAT(wrong.text, ContainsSubstring(
                             "Measured: 20.0% of the step is exposed, 30.0% communicates, so "
                             "with computing unchanged the step would be 1.8% to 2.7% shorter "
                             "(the larger if all communication queues): the claim does not fit."));
  CHECK(judge_claim({-0.09, -0.018, 0.2, 0.3}).fits);
  CHECK(judge_claim({-0.09, -0.026, 0.2, 0.3}).fits);
  CHECK_FALSE(judge_claim({-0.09, -0.012, 0.2, 0.3}).fits);
}

namespace {

// Buckets that are ready one after the other, each as long in transfer; computing ends with the
// last of them.
double step_of(double transfer) {
  double end = 0;
  for (int bucket = 1; bucket <= 10; ++bucket)
    end = std::max(end, 9.0 * bucket) + transfer;
  return std::max(end, 90.0);
}

} // namespace

TEST_CASE("A queue of buckets gets shorter as a whole, which is no false claim") {
  // Computing 90, communication 100, exposed 19.
  const double before = step_of(10), after = step_of(9.1), slower = step_of(11);
  const double exposed = (before - 90) / before;

  auto faster = judge_claim({-0.09, after / before - 1, exposed, 100 / before});
  auto longer = judge_claim({0.1, slower / before - 1, exposed, 100 / before});

  CHECK(after / before - 1 < -0.08);
  CHECK(faster.fits);
  CHECK(longer.fits);
}

TEST_CASE("No step gains more than what is exposed, however fast the sync") {
  auto all = judge_claim({-0.5, -0.2, 0.1, 0.9});

  CHECK(all.possible);
  CHECK(*all.most_step_change == Approx(-0.1));
  CHECK_FALSE(all.fits);
}

TEST_CASE("Without what communicates at all the most that a queue may gain is told") {
  auto verdict = judge_claim({-0.09, -0.07, 0.2, {}});

  CHECK(verdict.fits);
  CHECK_THAT(verdict.text, ContainsSubstring("the communication share was not given"));
}
