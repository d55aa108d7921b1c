// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/rank_sets.h"

#include "topology/paths.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ncclprobe::topology {
namespace {

constexpr double k_most_sets = 1e5;
constexpr double k_nvlink = 1;
constexpr double k_other_host = 20;

double distance_of(const Path& path) {
  switch (path.type) {
  case PathType::self:
    return 0;
  case PathType::nvlink:
    return path.nvlinks > 0 ? k_nvlink / path.nvlinks : k_nvlink;
  case PathType::unknown:
    return static_cast<double>(PathType::sys);
  default:
    return static_cast<double>(path.type);
  }
}

double sets_of(int all, int count) {
  double sets = 1;
  for (int i = 0; i < count; ++i)
    sets = sets * (all - i) / (i + 1);
  return sets;
}

class Chooser {
public:
  Chooser(const Distances& distances, int count, RankChoice choice)
      : distances_(distances), count_(count), sign_(choice == RankChoice::nearest ? 1 : -1) {}

  std::vector<int> exact() {
    std::vector<int> chosen;
    extend(chosen, 0, 0);
    return best_;
  }

  std::vector<int> greedy() {
    std::vector<int> chosen;
    int all = static_cast<int>(distances_.size());
    for (int a = 0; a < all; ++a)
      for (int b = a + 1; b < all; ++b)
        consider({a, b}, cost(a, b));
    chosen = best_;
    while (chosen.size() < count_) {
      int next = -1;
      double least = std::numeric_limits<double>::infinity();
      for (int rank = 0; rank < all; ++rank) {
        double added = cost_to(chosen, rank);
        if (std::ranges::find(chosen, rank) == chosen.end() && added < least) {
          least = added;
          next = rank;
        }
      }
      chosen.push_back(next);
    }
    std::ranges::sort(chosen);
    return chosen;
  }

private:
  double cost(int a, int b) const { return sign_ * distances_[a][b]; }
  double cost_to(const std::vector<int>& chosen, int rank) const {
    return std::accumulate(chosen.begin(), chosen.end(), 0.0,
                           [&](double sum, int one) { return sum + cost(one, rank); });
  }
  // Rounding must not decide between equal sets.
  void consider(std::vector<int> chosen, double sum) {
    if (best_.empty() || sum < least_ - 1e-9) {
      least_ = sum;
      best_ = std::move(chosen);
    }
  }
  void extend(std::vector<int>& chosen, int first, double sum) {
    if (chosen.size() == count_)
      return consider(chosen, sum);
    for (int rank = first; rank < std::ssize(distances_); ++rank) {
      double longer = sum + cost_to(chosen, rank);
      chosen.push_back(rank);
      extend(chosen, rank + 1, longer);
      chosen.pop_back();
    }
  }

  const Distances& distances_;
  std::size_t count_;
  double sign_;
  std::vector<int> best_;
  double least_ = 0;
};

} // namespace

Distances rank_distances(const Machine& machine, const std::vector<RankHome>& ranks) {
  Distances distances(ranks.size(), std::vector<double>(ranks.size(), 0));
  for (std::size_t a = 0; a < ranks.size(); ++a)
    for (std::size_t b = 0; b < ranks.size(); ++b) {
      if (a == b)
        continue;
      Path path;
      bool same_host = ranks[a].host == ranks[b].host;
      if (same_host && ranks[a].gpu && ranks[b].gpu)
        path = path_between(machine.hosts.at(ranks[a].host), {DeviceKind::gpu, *ranks[a].gpu},
                            {DeviceKind::gpu, *ranks[b].gpu})
                   .path;
      distances[a][b] = same_host ? distance_of(path) : k_other_host;
    }
  return distances;
}

std::vector<int> choose_ranks(const Distances& distances, int count, RankChoice choice) {
  int all = static_cast<int>(distances.size());
  if (count < 1 || count > all)
    return {};
  Chooser chooser(distances, count, choice);
  return sets_of(all, count) <= k_most_sets ? chooser.exact() : chooser.greedy();
}

} // namespace ncclprobe::topology
