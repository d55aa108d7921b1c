// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/outcome.h"
#include "analysis/tune/ran_trial.h"

#include <set>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis::tune {

// Trials of one run file that are no evidence, by their number there.
struct RejectedTrials {
  // The default was off in them or near them, or failed in them. In a file with trials of the
  // delivery, also those before the default's present level, which is not the level that they ran
  // at. Confirming needs no such rule: its trials of both sides alternate.
  std::set<int> numbers;
  int repeated = 0; // of these
};
RejectedTrials rejected_trials(const std::vector<RanTrial>& ran, const search::Outcome& outcome,
                               std::string_view file);

} // namespace ncclprobe::analysis::tune
