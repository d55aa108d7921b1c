// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/claim.h"

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

} // namespace

ClaimVerdict judge_claim(const Claim& claim) {
  ClaimVerdict verdict;
  const std::string heading = fmt::format("A sync time {} that makes a step {}",
                                          change_text(claim.sync_change, "lower", "higher"),
                                          change_text(claim.step_change, "shorter", "longer"));
  if (claim.sync_change == 0 || claim.step_change == 0) {
    verdict.possible = claim.step_change == 0;
    verdict.text = verdict.possible
                       ? heading + ": possible if all of the communication is hidden."
                       : heading + ": impossible, what did not change cannot change the step.";
    if (verdict.possible)
      verdict.implied_share = 0;
  } else {
    const double share = claim.step_change / claim.sync_change;
    verdict.implied_share = share;
    verdict.possible = share >= 0 && share <= 1;
    verdict.text = heading + fmt::format(" means {:.0f}% exposed communication", 100 * share);
    if (share < 0)
      verdict.text = heading + ": impossible by communication alone, the two go opposite ways.";
    else if (share > 1)
      verdict.text += ": impossible, no step is more than all communication.";
    else
      verdict.text += " in the step.";
  }
  verdict.fits = verdict.possible;
  if (!claim.exposed_share)
    return verdict;
  verdict.expected_step_change = *claim.exposed_share * claim.sync_change;
  verdict.fits = verdict.possible && std::abs(*claim.exposed_share - *verdict.implied_share) <=
                                         std::max(0.1 * *verdict.implied_share, 0.01);
  verdict.text += fmt::format(
      " Measured: {:.1f}% of the step is exposed, so the step would be {}: the claim {}.",
      100 * *claim.exposed_share, change_text(*verdict.expected_step_change, "shorter", "longer"),
      verdict.fits ? "fits" : "does not fit");
  return verdict;
}

} // namespace ncclprobe::analysis::cost_model
