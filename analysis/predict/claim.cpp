// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::cost_model {
namespace {

std::string percent(double share) {
  return fmt::format("{:.3g}%", 100 * share);
}

std::string change_text(double change, const char* less, const char* more) {
  return percent(std::abs(change)) + " " + (change < 0 ? less : more);
}

// S_k are the times from bucket k to the last, and f = max over k of (b_k + S_k) is the end. If all
// times become 1 + c times as long, f changes by at least |c| times the exposed time and at most
// |c| times the largest S_k. If times get shorter, f cannot change by more than the exposed time.
void compare_with_measured(const Claim& claim, ClaimVerdict& verdict) {
  const double exposed = *claim.exposed_share, change = std::abs(claim.sync_change);
  const double sign = claim.sync_change < 0 ? -1 : 1;
  const double communication = std::max(claim.communication_share.value_or(1), exposed);
  const double least = change * exposed;
  const double most = sign < 0 ? std::min(change * communication, exposed) : change * communication;
  verdict.least_step_change = sign * least;
  verdict.most_step_change = sign * most;
  const double claimed = sign * claim.step_change;
  const double margin = std::max(0.1 * std::abs(claimed), 0.01 * change);
  verdict.fits = verdict.possible && claimed >= least - margin && claimed <= most + margin;
  const std::string range =
      percent(least) == percent(most)
          ? change_text(sign * least, "shorter", "longer")
          : percent(least) + " to " + change_text(sign * most, "shorter", "longer");
  verdict.text += fmt::format(
      " Measured: {:.1f}% of the step is exposed{}, so with computing unchanged the step would be "
      "{}{}: the claim {}.",
      100 * exposed,
      claim.communication_share
          ? fmt::format(", {:.1f}% communicates", 100 * *claim.communication_share)
          : "",
      range,
      percent(least) == percent(most) ? ""
      : claim.communication_share
          ? " (the larger if all communication queues)"
          : " (the larger if all communication queues; the communication share was not given)",
      verdict.fits ? "fits" : "does not fit");
}

} // namespace

ClaimVerdict judge_claim(const Claim& claim) {
  ClaimVerdict verdict;
  const std::string heading = fmt::format("A sync time {} that makes a step {}",
                                          change_text(claim.sync_change, "lower", "higher"),
                                          change_text(claim.step_change, "shorter", "longer"));
  if (claim.sync_change == 0 || claim.step_change == 0) {
    verdict.possible = claim.step_change == 0;
    verdict.text = verdict.possible
                       ? heading + ": possible if all communication is hidden."
                       : heading + ": impossible if neither computing nor the sync time changed.";
    if (verdict.possible)
      verdict.implied_share = 0;
  } else {
    const double share = claim.step_change / claim.sync_change;
    verdict.implied_share = share;
    verdict.possible = share >= 0 && share <= 1;
    verdict.text = heading + fmt::format(" means that {:.0f}% of the step is exposed communication",
                                         100 * share);
    if (share < 0)
      verdict.text =
          heading +
          ": impossible by communication alone, because the two changes have opposite signs.";
    else if (share > 1)
      verdict.text +=
          ": impossible if computing is unchanged, because communication cannot exceed the step.";
    else
      verdict.text += ", or communication that queues.";
  }
  verdict.fits = verdict.possible;
  if (claim.exposed_share && claim.sync_change != 0)
    compare_with_measured(claim, verdict);
  return verdict;
}

} // namespace ncclprobe::analysis::cost_model
