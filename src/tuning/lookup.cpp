// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/lookup.h"

#include <algorithm>

namespace ncclprobe::tuning {
namespace {

// The same machine and settings give the same number. Other channel settings change it a little;
// the GPUs of two generations differ by 1.5 times and more.
constexpr double k_tolerance = 1.25;

bool applies(const Row& row, const Shape& shape) {
  return row.ranks == shape.ranks && row.nodes == shape.nodes &&
         (!row.domains || row.domains == shape.domains);
}

} // namespace

Lookup::Lookup(const Table& table, const Shape& shape) {
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (const Row& row = table.rows[i]; applies(row, shape))
      if (const auto number = tuned_number(row.collective))
        ranges_[static_cast<std::size_t>(*number)].push_back(
            {row.min_bytes, row.max_bytes, static_cast<int>(i)});
  for (auto& ranges : ranges_)
    std::ranges::sort(ranges, {}, &Range::min_bytes);
}

int Lookup::row_of(int number, std::uint64_t bytes) const {
  if (number < 0 || static_cast<std::size_t>(number) >= ranges_.size())
    return -1;
  const auto& ranges = ranges_[static_cast<std::size_t>(number)];
  auto after = std::ranges::upper_bound(ranges, bytes, {}, &Range::min_bytes);
  if (after == ranges.begin() || (--after)->max_bytes < bytes)
    return -1;
  return after->row;
}

bool Lookup::empty() const {
  return std::ranges::all_of(ranges_, [](const auto& ranges) { return ranges.empty(); });
}

bool fits_estimate(const Row& row, std::uint64_t bytes, double us) {
  if (!row.estimate || !(us >= 0))
    return true;
  const auto [at_min, at_max] = *row.estimate;
  const double span = static_cast<double>(row.max_bytes - row.min_bytes);
  const double part = span > 0 ? static_cast<double>(bytes - row.min_bytes) / span : 0;
  const double expected = at_min + part * (at_max - at_min);
  return us <= expected * k_tolerance && expected <= us * k_tolerance;
}

} // namespace ncclprobe::tuning
