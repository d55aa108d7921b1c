// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/missing_ranks.h"

#include <algorithm>

namespace ncclprobe::analysis::timeline {

void CommunicatorRoll::add(const std::vector<trace::CommunicatorRow>& of_rank) {
  for (const trace::CommunicatorRow& row : of_rank) {
    if (row.rank < 0 || row.rank >= row.ranks)
      continue; // unknown
    Known& known = communicators_[row.hash];
    known.size = std::max(known.size, row.ranks);
    known.ranks.insert(row.rank);
  }
}

std::vector<MissingRanks> CommunicatorRoll::missing() const {
  std::vector<MissingRanks> out;
  for (const auto& [hash, known] : communicators_) {
    if (known.ranks.size() == static_cast<std::size_t>(known.size))
      continue;
    MissingRanks one{.communicators = 1, .communicator_size = known.size, .ranks = {}};
    for (int rank = 0; rank < known.size; ++rank)
      if (!known.ranks.contains(rank))
        one.ranks.push_back(rank);
    auto same = std::ranges::find_if(out, [&](const MissingRanks& other) {
      return other.communicator_size == one.communicator_size && other.ranks == one.ranks;
    });
    if (same == out.end())
      out.push_back(std::move(one));
    else
      ++same->communicators;
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &MissingRanks::communicators);
  return out;
}

} // namespace ncclprobe::analysis::timeline
