// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clock_model.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::timeline {

double difference(std::uint64_t later, std::uint64_t earlier) {
  return later >= earlier ? static_cast<double>(later - earlier)
                          : -static_cast<double>(earlier - later);
}

ClockModel::Knot ClockModel::at(double x) const {
  const std::vector<Knot>& knots = shape_.knots;
  if (knots.empty())
    return {x, 0, 0};
  auto outside = [x](const Knot& knot, const Outside& beyond) {
    return Knot{x, knot.offset_ns + beyond.rate * (x - knot.x),
                knot.error_ns + beyond.error_rate * std::abs(x - knot.x)};
  };
  const auto next = std::ranges::upper_bound(knots, x, {}, &Knot::x);
  if (next == knots.begin())
    return outside(*next, shape_.before);
  const Knot& from = *std::prev(next);
  if (next == knots.end())
    return outside(from, shape_.after);
  const double share = (x - from.x) / (next->x - from.x);
  return {x, from.offset_ns + share * (next->offset_ns - from.offset_ns),
          from.error_ns + share * (next->error_ns - from.error_ns)};
}

std::int64_t ClockModel::to_reference(std::uint64_t own_ns) const {
  // Unsigned: times in damaged files may be anything.
  const auto rest_ns = static_cast<std::uint64_t>(std::llround(at(x_of(own_ns)).offset_ns));
  return static_cast<std::int64_t>(own_ns + static_cast<std::uint64_t>(shape_.base_offset_ns) +
                                   rest_ns);
}

double ClockModel::error_at(std::uint64_t own_ns) const {
  return at(x_of(own_ns)).error_ns;
}

std::uint64_t ClockModel::own_near(std::int64_t reference_ns) const {
  return static_cast<std::uint64_t>(reference_ns) -
         static_cast<std::uint64_t>(shape_.base_offset_ns);
}

double ClockModel::error_near(std::int64_t reference_ns) const {
  return error_at(own_near(reference_ns));
}

std::vector<std::uint64_t> ClockModel::corners(std::uint64_t first_own_ns,
                                               std::uint64_t last_own_ns) const {
  std::vector<std::uint64_t> moments{first_own_ns, last_own_ns};
  for (const Knot& knot : shape_.knots)
    if (knot.x > x_of(first_own_ns) && knot.x < x_of(last_own_ns))
      moments.push_back(own_of(knot.x));
  return moments;
}

double ClockModel::worst_error_ns(std::uint64_t first_own_ns, std::uint64_t last_own_ns) const {
  double worst = 0;
  for (std::uint64_t own_ns : corners(first_own_ns, last_own_ns))
    worst = std::max(worst, error_at(own_ns));
  return worst;
}

std::uint64_t ClockModel::first_ns() const {
  return shape_.knots.empty() ? 0 : own_of(shape_.knots.front().x);
}

std::uint64_t ClockModel::last_ns() const {
  return shape_.knots.empty() ? 0 : own_of(shape_.knots.back().x);
}

double ClockModel::mean_rate() const {
  if (shape_.knots.size() < 2)
    return shape_.before.rate;
  const Knot& first = shape_.knots.front();
  const Knot& last = shape_.knots.back();
  return (last.offset_ns - first.offset_ns) / (last.x - first.x);
}

} // namespace ncclprobe::analysis::timeline
