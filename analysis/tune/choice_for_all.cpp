// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/choice_for_all.h"

#include <map>

namespace ncclprobe::analysis::tune {

search::Candidate choice_for_all(const search::Space& space, const search::Outcome& outcome) {
  const search::Candidate& settings = outcome.settings.candidate;
  double of_settings = 0;
  std::map<search::Candidate, double> of_others;
  for (std::size_t i = 0; i < outcome.table.size(); ++i) {
    const search::Decision& decision = outcome.table[i];
    const double weight = space.targets[i].weight;
    if (decision.proven && decision.candidate != settings)
      of_others[decision.candidate] += weight;
    else
      of_settings += weight;
  }
  search::Candidate best = settings;
  double most = 0;
  for (const auto& [candidate, weight] : of_others)
    if (weight > most) {
      best = candidate;
      most = weight;
    }
  return most >= of_settings ? best : settings;
}

} // namespace ncclprobe::analysis::tune
