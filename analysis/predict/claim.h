// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ncclprobe::analysis::cost_model {

// "Gradient synchronisation is 9% faster, and a step 7%": changes of times, -0.09 and -0.07. A step
// gains no more than what communicates, so the claim says which share of the step does. Which of
// that counts depends on the job: of communication that waits for nothing but its data, what is
// exposed. Where it queues, f_k = max(f_(k-1), b_k) + t_k, the whole queue behind the bucket that
// it waited for last gets shorter, hidden parts too. Either way computing is taken to be as before.
struct Claim {
  double sync_change = 0;
  double step_change = 0;
  std::optional<double> exposed_share;       // that was measured, of the step
  std::optional<double> communication_share; // of the step: hidden or not; nothing: up to all of it
};

struct ClaimVerdict {
  bool possible = false;               // with computing as before, whatever the job
  bool fits = false;                   // to the measured shares; as `possible` without them
  std::optional<double> implied_share; // of the step, of communication that counts
  // By the measured shares: the step's change if only what is exposed counts, and if all
  // communication queues (less than nothing exposed cannot be left).
  std::optional<double> least_step_change, most_step_change;
  std::string text;
};
// A change fits within a tenth of itself, or a hundredth of the sync's.
ClaimVerdict judge_claim(const Claim& claim);

} // namespace ncclprobe::analysis::cost_model
