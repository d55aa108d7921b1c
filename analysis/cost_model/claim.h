// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ncclprobe::analysis::cost_model {

// "Gradient synchronisation is 9% faster, and a step 7%": changes of times, -0.09 and -0.07. What
// is hidden behind computation shortens no step, so the claim says which share of the step is
// exposed.
struct Claim {
  double sync_change = 0;
  double step_change = 0;
  std::optional<double> exposed_share; // that was measured, of the step
};

struct ClaimVerdict {
  bool possible = false;                      // whatever the job
  bool fits = false;                          // to the measured share; as `possible` without one
  std::optional<double> implied_share;        // of exposed communication in the step
  std::optional<double> expected_step_change; // by the measured share
  std::string text;
};
// A measured share fits within a tenth of the implied one, or a point.
ClaimVerdict judge_claim(const Claim& claim);

} // namespace ncclprobe::analysis::cost_model
