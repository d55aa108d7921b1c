// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/rejected_trials.h"

#include <algorithm>
#include <iterator>

namespace ncclprobe::analysis::tune {

RejectedTrials rejected_trials(const std::vector<RanTrial>& ran, const search::Outcome& outcome,
                               std::string_view file) {
  RejectedTrials out;
  bool delivers = false;
  int level_from = 0; // the first trial at the default's present level
  std::vector<int> timed;
  for (const RanTrial& trial : ran) {
    if (trial.file != file || trial.role == TrialRole::companion)
      continue;
    timed.push_back(trial.number);
    delivers = delivers || trial.role == TrialRole::delivery;
    const int id = trial.request.id;
    const auto rejection = std::ranges::find(outcome.rejections, id, &search::Rejection::trial);
    if (rejection != outcome.rejections.end()) {
      out.repeated += rejection->repeated ? 1 : 0;
      out.numbers.insert(trial.number);
    }
    const auto off = std::ranges::find(outcome.disturbances, id, &search::Disturbance::trial);
    if (off == outcome.disturbances.end())
      continue;
    if (off->new_level)
      level_from = trial.number;
    else
      out.numbers.insert(trial.number);
  }
  // The delivery runs after all trials of the confirming step, so a change of level between the
  // two would look like a gain or a loss of the delivery.
  if (delivers)
    std::ranges::copy_if(timed, std::inserter(out.numbers, out.numbers.end()),
                         [&](int number) { return number < level_from; });
  return out;
}

} // namespace ncclprobe::analysis::tune
