// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/rejected_trials.h"

#include <algorithm>

namespace ncclprobe::analysis::tune {

RejectedTrials rejected_trials(const std::vector<RanTrial>& ran, const search::Outcome& outcome,
                               std::string_view file) {
  RejectedTrials out;
  bool delivers = false; // from here on
  for (const RanTrial& trial : ran) {
    if (trial.file != file || trial.role == TrialRole::companion)
      continue;
    delivers = delivers || trial.role == TrialRole::delivery;
    const int id = trial.request.id;
    const auto rejection = std::ranges::find(outcome.rejections, id, &search::Rejection::trial);
    if (rejection != outcome.rejections.end()) {
      ++out.rejected;
      out.repeated += rejection->repeated ? 1 : 0;
      out.numbers.insert(trial.number);
    }
    const auto off = std::ranges::find(outcome.disturbances, id, &search::Disturbance::trial);
    if (off == outcome.disturbances.end())
      continue;
    if (!off->new_level)
      out.numbers.insert(trial.number);
    else if (delivers) // what ran before compares with another level
      for (int earlier = 0; earlier < trial.number; ++earlier)
        out.numbers.insert(earlier);
  }
  return out;
}

} // namespace ncclprobe::analysis::tune
