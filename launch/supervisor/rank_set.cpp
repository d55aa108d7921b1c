// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/rank_set.h"

#include <algorithm>

namespace ncclprobe::launch {

void RankSet::add(int first, int end) {
  if (first >= end)
    return;
  if (bounds.empty() || first > bounds.back()) {
    bounds.insert(bounds.end(), {first, end});
    return;
  }
  // The bounds that [first, end] touches. An even number of bounds before it: it begins in a gap.
  auto from = std::ranges::lower_bound(bounds, first);
  auto to = std::upper_bound(from, bounds.end(), end);
  const bool in_gap = (from - bounds.begin()) % 2 == 0;
  const bool ends_in_gap = (to - bounds.begin()) % 2 == 0;
  std::vector<int> middle;
  if (in_gap)
    middle.push_back(first);
  if (ends_in_gap)
    middle.push_back(end);
  const auto at = bounds.erase(from, to);
  bounds.insert(at, middle.begin(), middle.end());
}

void RankSet::add(const RankSet& other) {
  for (std::size_t i = 0; i < other.bounds.size(); i += 2)
    add(other.bounds[i], other.bounds[i + 1]);
}

int RankSet::size() const {
  int ranks = 0;
  for (std::size_t i = 0; i < bounds.size(); i += 2)
    ranks += bounds[i + 1] - bounds[i];
  return ranks;
}

bool RankSet::covers(int first, int end) const {
  if (first >= end)
    return true;
  const auto after = std::ranges::upper_bound(bounds, first);
  return (after - bounds.begin()) % 2 == 1 && end <= *after;
}

bool RankSet::meets(int first, int end) const {
  if (first >= end)
    return false;
  const auto after = std::ranges::upper_bound(bounds, first);
  return (after - bounds.begin()) % 2 == 1 || (after != bounds.end() && *after < end);
}

bool RankSet::meets(const RankSet& other) const {
  for (std::size_t i = 0; i < other.bounds.size(); i += 2)
    if (meets(other.bounds[i], other.bounds[i + 1]))
      return true;
  return false;
}

bool RankSet::sound(int size) const {
  if (bounds.size() % 2 != 0)
    return false;
  for (std::size_t i = 1; i < bounds.size(); ++i)
    if (bounds[i] <= bounds[i - 1])
      return false;
  return bounds.empty() || (bounds.front() >= 0 && bounds.back() <= size);
}

} // namespace ncclprobe::launch
