// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/coordinate_descent.h"

#include <algorithm>
#include <limits>

namespace ncclprobe::analysis::search {
namespace {

double value_in(const std::vector<Observation>& tried, const Candidate& candidate) {
  auto found = std::ranges::find(tried, candidate, &Observation::candidate);
  return found == tried.end() ? std::numeric_limits<double>::infinity() : found->value;
}

} // namespace

CoordinateDescent::CoordinateDescent(const Space& space) : at_(default_candidate(space)) {
  for (std::size_t p = 0; p < space.parameters.size(); ++p)
    if (!space.parameters[p].in_process)
      lines_.push_back({p, static_cast<int>(space.parameters[p].values.size())});
}

std::vector<Candidate> CoordinateDescent::on_line() const {
  std::vector<Candidate> all;
  for (int value = 0; value < lines_[line_].values; ++value) {
    all.push_back(at_);
    all.back()[lines_[line_].parameter] = value;
  }
  return all;
}

std::vector<Candidate> CoordinateDescent::next(const std::vector<Observation>& tried,
                                               const Allowed& allowed, std::size_t most) {
  while (unchanged_ < lines_.size()) {
    const std::vector<Candidate> line = on_line();
    std::vector<Candidate> untried;
    for (const Candidate& one : line)
      if (untried.size() < most && allowed(one) &&
          std::ranges::find(tried, one, &Observation::candidate) == tried.end())
        untried.push_back(one);
    if (!untried.empty())
      return untried;
    const Candidate best = *std::ranges::min_element(
        line, {}, [&](const Candidate& one) { return value_in(tried, one); });
    unchanged_ = best == at_ ? unchanged_ + 1 : 1;
    at_ = best;
    line_ = (line_ + 1) % lines_.size();
  }
  return {};
}

std::vector<double> CoordinateDescent::values(const std::vector<Observation>& tried) const {
  std::vector<double> out;
  for (const Observation& one : tried)
    out.push_back(one.value);
  return out;
}

} // namespace ncclprobe::analysis::search
