// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"

#include <compare>
#include <vector>

namespace ncclprobe::launch {

// A set of ranks as intervals: what thousands of neighbours share is one entry.
struct RankSet {
  std::vector<int> bounds; // first, end, first, end, ...; ascending, with gaps between

  RankSet() = default;
  RankSet(int rank) { add(rank, rank + 1); }
  RankSet(int first, int end) { add(first, end); }
  template <typename Ranks>
  static RankSet of(const Ranks& ranks) {
    RankSet set;
    for (int rank : ranks)
      set.add(rank, rank + 1);
    return set;
  }

  void add(int first, int end);
  void add(const RankSet& other);
  bool empty() const { return bounds.empty(); }
  int size() const;
  int first() const { return bounds.front(); }
  bool contains(int rank) const { return covers(rank, rank + 1); }
  bool covers(int first, int end) const;
  bool meets(int first, int end) const; // one rank at least is in both
  bool meets(const RankSet& other) const;
  // What another process sent: is it ascending, and within [0, size)?
  bool sound(int size) const;
  template <typename Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < bounds.size(); i += 2)
      for (int rank = bounds[i]; rank < bounds[i + 1]; ++rank)
        visit(rank);
  }
  auto operator<=>(const RankSet&) const = default;
};
NCCLPROBE_FIELDS(RankSet, bounds)

} // namespace ncclprobe::launch
