// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/clock_bounds.h"

#include <algorithm>
#include <functional>

namespace ncclprobe::plugin {
namespace {

// `stricter(a, b)`: a is the tighter bound.
template <typename Extremes, typename Bound, typename Stricter>
void keep(Extremes& extremes, const Bound& bound, Stricter stricter) {
  auto same = std::ranges::find_if(
      extremes, [&](const Bound& one) { return one.operation == bound.operation; });
  Bound& place = same == extremes.end() ? extremes.back() : *same;
  if (!stricter(bound.offset_ns, place.offset_ns))
    return;
  place = bound;
  std::ranges::sort(
      extremes, [&](const Bound& a, const Bound& b) { return stricter(a.offset_ns, b.offset_ns); });
}

std::int64_t between(std::uint64_t host_ns, std::uint64_t gpu_ns) {
  return static_cast<std::int64_t>(host_ns - gpu_ns);
}

} // namespace

void ClockBounds::add(const trace::NcclChannelRow& row, std::uint64_t enqueue_ns) {
  keep(at_least_, Bound{between(enqueue_ns, row.start_gt), row.nccl_operation}, std::greater{});
  std::int64_t heard_ns =
      std::min(between(row.start_ns, row.start_gt), between(row.stop_ns, row.stop_gt));
  keep(at_most_, Bound{heard_ns, row.nccl_operation}, std::less{});
  if (first_gt_ == 0)
    first_gt_ = row.start_gt;
  last_gt_ = std::max(last_gt_, row.stop_gt);
}

std::optional<trace::ClockRow> ClockBounds::reading() const {
  if (first_gt_ == 0)
    return std::nullopt;
  for (std::size_t given_up = 0; given_up < 2 * k_kept - 1; ++given_up)
    for (std::size_t least = 0; least <= given_up; ++least) {
      std::size_t most = given_up - least;
      if (least >= k_kept || most >= k_kept)
        continue;
      std::int64_t least_ns = at_least_[least].offset_ns, most_ns = at_most_[most].offset_ns;
      if (least_ns == INT64_MIN || most_ns == INT64_MAX || least_ns > most_ns)
        continue;
      std::uint64_t span_ns = last_gt_ - first_gt_;
      auto width_ns = static_cast<std::uint64_t>(most_ns - least_ns);
      trace::ClockRow row;
      row.kind = trace::ClockKind::globaltimer;
      row.at_ns = first_gt_ + span_ns / 2;
      row.offset_ns = least_ns + static_cast<std::int64_t>(width_ns / 2);
      // The clocks drift in the meantime.
      auto drift_ns =
          static_cast<std::uint64_t>(static_cast<double>(span_ns / 2) * trace::k_most_drift);
      row.error_ns = (width_ns + 1) / 2 + drift_ns;
      row.round_trip_ns = width_ns;
      return row;
    }
  return std::nullopt;
}

} // namespace ncclprobe::plugin
