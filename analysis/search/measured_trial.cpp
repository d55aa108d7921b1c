// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/measured_trial.h"

#include <cmath>

namespace ncclprobe::analysis::search {

void MeasuredTrial::add(const CellRequest& cell, double time_ns) {
  Sum& sum = sums_[{cell.target, cell.candidate}];
  sum.of_logs += std::log(time_ns);
  ++sum.count;
}

std::optional<double> MeasuredTrial::log_time(std::size_t target,
                                              const Candidate& candidate) const {
  auto found = sums_.find({target, candidate});
  if (found == sums_.end())
    return std::nullopt;
  return found->second.of_logs / found->second.count;
}

std::optional<double> MeasuredTrial::log_time(const Space& space,
                                              const Candidate& candidate) const {
  double sum = 0, weights = 0;
  for (std::size_t target = 0; target < space.targets.size(); ++target) {
    auto one = log_time(target, candidate);
    if (!one)
      return std::nullopt;
    sum += space.targets[target].weight * *one;
    weights += space.targets[target].weight;
  }
  return sum / weights;
}

} // namespace ncclprobe::analysis::search
