// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/claim.h"
#include "support/catch.h"

using namespace ncclprobe::analysis::cost_model;

TEST_CASE("A claim says how much of the step must be exposed") {
  auto verdict = judge_claim({-0.09, -0.07, {}});

  CHECK(verdict.possible);
  CHECK(*verdict.implied_share == Approx(7.0 / 9));
  CHECK(verdict.text == "A sync time 9% lower that makes a step 7% shorter means 78% exposed "
                        "communication in the step.");
}

TEST_CASE("No step can gain more than its communication") {
  auto verdict = judge_claim({-0.05, -0.07, {}});

  CHECK_FALSE(verdict.possible);
  CHECK_THAT(verdict.text, ContainsSubstring("140% exposed communication: impossible"));
}

TEST_CASE("A faster sync does not make a step longer, nor does none make a difference") {
  CHECK_FALSE(judge_claim({-0.05, 0.02, {}}).possible);
  CHECK_FALSE(judge_claim({0, -0.02, {}}).possible);
  CHECK(judge_claim({-0.05, 0, {}}).implied_share == 0.0);
}

TEST_CASE("A claim is held against the exposed share that was measured") {
  auto wrong = judge_claim({-0.09, -0.07, 0.2});
  CHECK(wrong.possible);
  CHECK_FALSE(wrong.fits);
  CHECK(*wrong.expected_step_change == Approx(-0.018));
  CHECK_THAT(wrong.text, ContainsSubstring("Measured: 20.0% of the step is exposed, so the step "
                                           "would be 1.8% shorter: the claim does not fit."));
  CHECK(judge_claim({-0.09, -0.018, 0.2}).fits);
}
