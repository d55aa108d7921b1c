// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/cpu_shares.h"

#include <algorithm>
#include <set>

namespace ncclprobe::topology {
namespace {

// The cores, reduced to these CPUs; a CPU without a core counts as a core.
Cores cores_of(const std::vector<int>& cpus, const Cores& cores) {
  std::set<int> left(cpus.begin(), cpus.end());
  Cores found;
  for (const std::vector<int>& core : cores) {
    std::vector<int> here;
    for (int cpu : core)
      if (left.erase(cpu) > 0)
        here.push_back(cpu);
    if (!here.empty())
      found.push_back(std::move(here));
  }
  for (int cpu : left)
    found.push_back({cpu});
  std::ranges::sort(found);
  return found;
}

Cores ranges_of(std::vector<int> cpus) {
  std::ranges::sort(cpus);
  Cores ranges;
  for (int cpu : cpus) {
    if (ranges.empty() || ranges.back().back() + 1 != cpu)
      ranges.emplace_back();
    ranges.back().push_back(cpu);
  }
  return ranges;
}

// Part `number` of `parts` equal ones.
template <typename T>
std::vector<T> part_of(const std::vector<T>& all, std::size_t number, std::size_t parts) {
  auto at = [&](std::size_t part) {
    return all.begin() + static_cast<std::ptrdiff_t>(all.size() * part / parts);
  };
  return {at(number), at(number + 1)};
}

// The first hyperthread of every core, then the second ones.
std::vector<int> thread_by_thread(const Cores& cores) {
  std::vector<int> cpus;
  std::size_t most = 0;
  for (const std::vector<int>& core : cores)
    most = std::max(most, core.size());
  for (std::size_t thread = 0; thread < most; ++thread)
    for (const std::vector<int>& core : cores)
      if (thread < core.size())
        cpus.push_back(core[thread]);
  return cpus;
}

std::vector<int> joined(const Cores& lists) {
  std::vector<int> cpus;
  for (const std::vector<int>& list : lists)
    cpus.insert(cpus.end(), list.begin(), list.end());
  std::ranges::sort(cpus);
  return cpus;
}

} // namespace

std::vector<std::vector<int>> share_cpus(const std::vector<int>& cpus,
                                         const std::optional<Cores>& cores, std::size_t parts) {
  if (cpus.size() < parts)
    return std::vector<std::vector<int>>(parts, cpus);
  Cores units = cores ? cores_of(cpus, *cores) : ranges_of(cpus);
  bool each_divides = std::ranges::all_of(
      units, [&](const std::vector<int>& range) { return range.size() >= parts; });
  std::vector<std::vector<int>> shares;
  for (std::size_t number = 0; number < parts; ++number) {
    if (cores && units.size() >= parts) {
      shares.push_back(joined(part_of(units, number, parts)));
    } else if (cores || !each_divides) {
      shares.push_back(part_of(cores ? thread_by_thread(units) : cpus, number, parts));
      std::ranges::sort(shares.back());
    } else {
      Cores pieces;
      for (const std::vector<int>& range : units)
        pieces.push_back(part_of(range, number, parts));
      shares.push_back(joined(pieces));
    }
  }
  return shares;
}

std::size_t count_cores(const std::vector<int>& cpus, const Cores& cores) {
  return cores_of(cpus, cores).size();
}

} // namespace ncclprobe::topology
