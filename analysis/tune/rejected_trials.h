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
  // The default was off in them or near them, or they ran before the default's present level. That
  // is the level since the last time that a disturbance of the delivery's trials stayed.
  std::set<int> numbers;
  int rejected = 0; // by the search, because the default was off near them
  int repeated = 0; // of these
};
RejectedTrials rejected_trials(const std::vector<RanTrial>& ran, const search::Outcome& outcome,
                               std::string_view file);

} // namespace ncclprobe::analysis::tune
