// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/reserve.h"

#include "analysis/search/confirm_step.h"
#include "analysis/search/leave_out_step.h"
#include "analysis/search/screen_step.h"

namespace ncclprobe::analysis::search {

// A trial of the default stands for one of any process parameters.
Reserve confirm_reserve(Progress& progress) {
  std::vector<Candidate> cells{progress.unset};
  if (progress.screens)
    cells.push_back(progress.unset); // a finalist's cell
  const double one = progress.expected_s({trial_of(progress, Stage::confirm, cells)});
  constexpr int k_repeats = 1; // of a block whose default is off
  const int trials = (ConfirmStep::k_looks.front() + k_repeats) * (progress.has_process() ? 2 : 1);
  return {trials, trials * one};
}

Reserve screen_reserve(Progress& progress) {
  if (!progress.screens)
    return {};
  std::vector<std::vector<Candidate>> all;
  for (std::size_t target = 0; target < progress.space.targets.size(); ++target)
    all.push_back(screened(progress, progress.unset, target));
  constexpr int k_least_rounds = 2;
  return {k_least_rounds,
          k_least_rounds * progress.expected_s({screen_trial(progress, progress.unset, all)})};
}

// One round of two combinations with the default, and one more repeat of a confirming pair:
// exploring that ends earlier costs less than a choice by single trials, or a proof that fails.
Reserve race_reserve(Progress& progress) {
  constexpr int k_trials = 2 + 1 + 2;
  return {k_trials,
          k_trials * progress.expected_s({trial_of(progress, Stage::race, {progress.unset})})};
}

// Finding what is faster comes first: nothing if this would take more than a tenth of the budget.
Reserve leave_out_reserve(Progress& progress) {
  constexpr double k_largest_share = 0.1;
  constexpr int k_trials_of_round = 4; // two changes, the combination and the default
  constexpr int k_trials = LeaveOutStep::k_least_rounds * k_trials_of_round;
  const double all =
      k_trials * progress.expected_s({trial_of(progress, Stage::leave_out, {progress.unset})});
  return all <= k_largest_share * progress.options.budget_s ? Reserve{k_trials, all} : Reserve{};
}

} // namespace ncclprobe::analysis::search
