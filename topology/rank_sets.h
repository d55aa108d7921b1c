// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <optional>
#include <vector>

// Which ranks to use if not all are needed.
namespace ncclprobe::topology {

// nearest: the ranks with the best paths between them. spread: those with the worst.
enum class RankChoice { nearest, spread };

// Distances between pairs of ranks; symmetric. Only the order of their sums matters. The distance
// is 1/n for n NVLinks, then the kinds of path in their order (path.h). An unknown path counts as
// the longest on a host, and anything on a host is nearer than other hosts. An unknown GPU is as
// far from its neighbours as one with unknown paths.
using Distances = std::vector<std::vector<double>>;
struct RankHome {
  int host = 0;           // position in Machine::hosts
  std::optional<int> gpu; // Gpu::index; nothing: unknown, or none
};
Distances rank_distances(const Machine& machine, const std::vector<RankHome>& ranks);

// `count` ranks, ascending: those with the smallest (nearest) or largest (spread) sum of distances,
// and of equal ones the first. Exact up to some 100,000 sets; beyond that greedy, from the best
// pair on. Empty if there are not enough ranks.
std::vector<int> choose_ranks(const Distances& distances, int count, RankChoice choice);

} // namespace ncclprobe::topology
