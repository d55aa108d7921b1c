// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ncclprobe::analysis::cost_model {

// "Gradient synchronisation is 9% faster, and a step 7%": changes of times, -0.09 and -0.07. A step
// cannot gain more than its communication, so the claim implies a communication share of the step.
// Which communication counts depends on the job. If communication only waits for its data, the
// exposed part counts. If it queues, f_k = max(f_(k-1), b_k) + t_k, the whole queue after the last
// awaited bucket gets shorter, including hidden parts. In both cases computing is assumed
// unchanged.
struct Claim {
  double sync_change = 0;
  double step_change = 0;
  std::optional<double> exposed_share; // measured share of the step
  std::optional<double>
      communication_share; // share of the step, hidden or not; nothing: up to all of it
};

struct ClaimVerdict {
  bool possible = false;               // with unchanged computing, for any job
  bool fits = false;                   // given the measured shares; as `possible` without them
  std::optional<double> implied_share; // share of the step, of communication that counts
  // By the measured shares: the step's change if only the exposed part counts, and if all
  // communication queues (at most, the exposed part disappears).
  std::optional<double> least_step_change, most_step_change;
  std::string text;
};
// A change matches within a tenth of itself, or a hundredth of the sync's.
ClaimVerdict judge_claim(const Claim& claim);

} // namespace ncclprobe::analysis::cost_model
