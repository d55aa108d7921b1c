// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/repeated_units.h"

#include "base/hash.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::size_t k_shortest_window = 4;
constexpr double k_next_window = 1.5; // times as long
constexpr std::size_t k_fewest_windows = 5;
constexpr std::size_t k_most_windows = 64;
constexpr std::size_t k_repeats = 3; // of a unit in its window

// The length of the longest proper prefix of each prefix that is also its suffix.
std::vector<std::uint32_t> borders_of(Symbols symbols) {
  std::vector<std::uint32_t> borders(symbols.size());
  for (std::size_t i = 1; i < symbols.size(); ++i) {
    std::uint32_t length = borders[i - 1];
    while (length > 0 && symbols[i] != symbols[length])
      length = borders[length - 1];
    borders[i] = length + (symbols[i] == symbols[length]);
  }
  return borders;
}

// A hash that is the same for all rotations: that of the least one.
std::uint64_t hash_of_rotations(Symbols unit) {
  const std::size_t size = unit.size();
  std::size_t i = 0, j = 1, equal = 0; // two candidates, and how far they agree
  while (i < size && j < size && equal < size) {
    const std::uint32_t a = unit[(i + equal) % size], b = unit[(j + equal) % size];
    if (a == b) {
      ++equal;
      continue;
    }
    (a > b ? i : j) += equal + 1;
    j += i == j;
    equal = 0;
  }
  base::Hash hash;
  for (std::size_t k = 0; k < size; ++k)
    hash.step(unit[(std::min(i, j) + k) % size]);
  return hash.value();
}

struct Found {
  Unit unit;
  std::size_t weight = 0; // length of its windows
};

} // namespace

std::size_t period_of(Symbols symbols) {
  return symbols.size() - borders_of(symbols).back();
}

std::vector<Unit> repeated_units(Symbols symbols) {
  std::map<std::pair<std::size_t, std::uint64_t>, Found> found;
  auto look_at = [&](std::size_t first, std::size_t length) {
    const Symbols window = symbols.subspan(first, length);
    const std::size_t period = period_of(window);
    if (k_repeats * period > length)
      return;
    const std::uint64_t hash = hash_of_rotations(window.first(period));
    Found& one = found.try_emplace({period, hash}, Found{{first, period}, 0}).first->second;
    one.weight += length;
  };
  const auto size = static_cast<double>(symbols.size());
  for (double exact = k_shortest_window; exact < size; exact *= k_next_window) {
    const auto length = static_cast<std::size_t>(exact);
    const std::size_t count =
        std::clamp(4 * symbols.size() / length, k_fewest_windows, k_most_windows);
    for (std::size_t i = 0; i < count; ++i)
      look_at((symbols.size() - length) * i / (count - 1), length);
  }
  if (symbols.size() >= k_shortest_window)
    look_at(0, symbols.size());
  std::vector<Found> sorted;
  for (const auto& [key, one] : found)
    sorted.push_back(one);
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Found::weight);
  std::vector<Unit> units;
  for (std::size_t i = 0; i < std::min(sorted.size(), k_most_units); ++i)
    units.push_back(sorted[i].unit);
  return units;
}

std::vector<std::size_t> matches_of(Symbols unit, Symbols symbols) {
  std::vector<std::size_t> matches;
  if (unit.empty())
    return matches;
  const std::vector<std::uint32_t> borders = borders_of(unit);
  std::size_t length = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    while (length > 0 && (length == unit.size() || symbols[i] != unit[length]))
      length = borders[length - 1];
    length += symbols[i] == unit[length];
    if (length == unit.size())
      matches.push_back(i + 1 - length);
  }
  return matches;
}

} // namespace ncclprobe::analysis::job
