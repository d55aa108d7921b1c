// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clock_inference.h"

#include "analysis/timeline/rank_reading.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace ncclprobe::analysis::timeline {

// --- what lines are possible ---

double OffsetPolygon::after(std::uint64_t own_ns) const {
  return own_ns >= base_at_ns_ ? static_cast<double>(own_ns - base_at_ns_)
                               : -static_cast<double>(base_at_ns_ - own_ns);
}

void OffsetPolygon::allow(const Limit& least, const Limit& most) {
  if (corners_.empty()) {
    base_at_ns_ = first_ns_ = last_ns_ = least.own_ns;
    base_offset_ns_ = least.offset_ns;
    double drift = trace::k_most_drift;
    double room = std::abs(static_cast<double>(most.offset_ns - least.offset_ns)) +
                  drift * std::abs(after(most.own_ns));
    corners_ = {{-room, -drift}, {room, -drift}, {room, drift}, {-room, drift}};
  }
  first_ns_ = std::min({first_ns_, least.own_ns, most.own_ns});
  last_ns_ = std::max({last_ns_, least.own_ns, most.own_ns});
  cut(after(most.own_ns), static_cast<double>(most.offset_ns - base_offset_ns_), 1);
  cut(after(least.own_ns), static_cast<double>(least.offset_ns - base_offset_ns_), -1);
}

// Keeps the lines that are at that time on this side of the limit: below it for side 1, else above.
void OffsetPolygon::cut(double after_ns, double limit_ns, double side) {
  auto beyond = [&](const Line& line) { return side * (line.at(after_ns) - limit_ns); };
  double least = INFINITY;
  double most = -INFINITY;
  for (const Line& corner : corners_) {
    least = std::min(least, beyond(corner));
    most = std::max(most, beyond(corner));
  }
  if (most <= 0)
    return;
  if (least > 0) // it forbids all
    widen(least);
  std::vector<Line> kept;
  for (std::size_t i = 0; i < corners_.size(); ++i) {
    const Line& here = corners_[i];
    const Line& next = corners_[(i + 1) % corners_.size()];
    double from = beyond(here);
    double to = beyond(next);
    if (from <= 0)
      kept.push_back(here);
    if ((from < 0 && to > 0) || (from > 0 && to < 0)) {
      double share = from / (from - to);
      kept.push_back({here.offset_ns + share * (next.offset_ns - here.offset_ns),
                      here.rate + share * (next.rate - here.rate)});
    }
  }
  if (!kept.empty()) // none by rounding
    corners_ = std::move(kept);
}

// Every offset may be so much more or less: the hull of the polygon shifted both ways.
void OffsetPolygon::widen(double by_ns) {
  widened_ns_ += by_ns;
  std::vector<Line> all;
  for (const Line& corner : corners_)
    for (double shift : {-by_ns, by_ns})
      all.push_back({corner.offset_ns + shift, corner.rate});
  std::ranges::sort(all, [](const Line& a, const Line& b) {
    return a.rate != b.rate ? a.rate < b.rate : a.offset_ns < b.offset_ns;
  });
  auto turns_back = [](const Line& a, const Line& b, const Line& c) {
    return (b.rate - a.rate) * (c.offset_ns - a.offset_ns) -
               (b.offset_ns - a.offset_ns) * (c.rate - a.rate) <=
           0;
  };
  std::vector<Line> hull;
  for (int chain = 0; chain < 2; ++chain) { // below, then above
    const std::size_t start = hull.size();
    for (const Line& line : all) {
      while (hull.size() >= start + 2 && turns_back(hull[hull.size() - 2], hull.back(), line))
        hull.pop_back();
      hull.push_back(line);
    }
    hull.pop_back(); // begins the next chain
    std::ranges::reverse(all);
  }
  corners_ = std::move(hull);
}

trace::ClockRow OffsetPolygon::reading(std::uint64_t own_ns) const {
  double least = INFINITY;
  double most = -INFINITY;
  for (const Line& corner : corners_) {
    least = std::min(least, corner.at(after(own_ns)));
    most = std::max(most, corner.at(after(own_ns)));
  }
  trace::ClockRow row;
  row.at_ns = own_ns;
  row.offset_ns = base_offset_ns_ + std::llround((least + most) / 2);
  row.error_ns = static_cast<std::uint64_t>(std::ceil((most - least) / 2 + widened_ns_)) + 1;
  row.round_trip_ns = 2 * row.error_ns;
  row.kind = trace::ClockKind::host;
  return row;
}

std::vector<trace::ClockRow> OffsetPolygon::readings() const {
  if (corners_.empty())
    return {};
  if (first_ns_ == last_ns_)
    return {reading(first_ns_)};
  return {reading(first_ns_), reading(last_ns_)};
}

// --- what collectives allow ---

namespace {

// Between when a rank surely had not begun yet and when it surely had ended, on its host's clock.
struct Part {
  CollectiveKey key;
  std::int64_t begun_ns = 0;
  std::int64_t ended_ns = 0;
};

base::Result<std::vector<Part>> parts_of(const TraceSource& source, const TextTraits& traits,
                                         int rank, const Clocks::OfRank& clock) {
  NCCLPROBE_TRY_ASSIGN(RankTrace trace, source.load(rank, Pass::collectives));
  const RankReading reading(std::move(trace), rank, clock, traits, source, Pass::collectives);
  std::vector<Part> parts;
  for (const CollectivePart& part : reading.parts) {
    if (!part.needs_all)
      continue;
    const Activity& activity = reading.activities.all[part.activity];
    Part one{part.key, activity.start_ns, activity.end_ns};
    if (reading.activities.from_nccl) {
      const std::size_t row = activity.nccl - 1;
      auto enqueue_ns = static_cast<std::int64_t>(reading.trace.nccl_operations[row].enqueue_ns);
      // What the host heard, it heard late: the end is, the begin was not before the call.
      auto error_ns = clock.gpu ? static_cast<std::int64_t>(std::ceil(clock.gpu->error_ns)) : 0;
      if (reading.nccl_times.heard[row]) {
        one.begun_ns = enqueue_ns;
      } else {
        one.begun_ns = std::max(enqueue_ns, one.begun_ns - error_ns);
        one.ended_ns += error_ns;
      }
      if (one.begun_ns == 0)
        continue;
    }
    parts.push_back(one);
  }
  return parts;
}

// Of all ranks of the first host: when the last had begun, and when the first had ended.
struct Bounds {
  std::int64_t last_begun_ns = INT64_MIN;
  std::int64_t first_ended_ns = INT64_MAX;
};
using Reference = std::unordered_map<CollectiveKey, Bounds, CollectiveTable::Hash>;

struct Inferred {
  OffsetPolygon polygon;
  std::uint64_t collectives = 0; // of the rank that shares the most
};

} // namespace

void infer_clocks(TraceSource& source) {
  const Clocks clocks = fit_clocks(source.ranks);
  if (clocks.all_known())
    return;
  const TextTraits traits(source.texts);
  Reference reference;
  std::map<std::string, Inferred> hosts;
  for (const bool first_host : {true, false})
    for (const RankHead& head : source.ranks) {
      const Clocks::OfRank& clock = clocks.ranks.at(head.rank);
      if (first_host ? clock.host_index != 0 : clock.host.has_value())
        continue;
      const auto parts = parts_of(source, traits, head.rank, clock);
      if (!parts) // whoever needs that rank will say so; the others' bounds hold without it
        continue;
      std::uint64_t shared = 0;
      for (const Part& part : *parts) {
        if (first_host) {
          Bounds& bounds = reference[part.key];
          bounds.last_begun_ns = std::max(bounds.last_begun_ns, part.begun_ns);
          bounds.first_ended_ns = std::min(bounds.first_ended_ns, part.ended_ns);
        } else if (auto found = reference.find(part.key); found != reference.end()) {
          ++shared;
          auto limit = [](std::int64_t own_ns, std::int64_t reference_ns) {
            return OffsetPolygon::Limit{static_cast<std::uint64_t>(own_ns), reference_ns - own_ns};
          };
          hosts[head.host].polygon.allow(limit(part.ended_ns, found->second.last_begun_ns),
                                         limit(part.begun_ns, found->second.first_ended_ns));
        }
      }
      if (shared > 0)
        hosts[head.host].collectives = std::max(hosts[head.host].collectives, shared);
    }
  std::set<std::string> given;
  for (RankHead& head : source.ranks) {
    auto host = hosts.find(head.host);
    if (host == hosts.end() || !given.insert(head.host).second)
      continue;
    head.inferred_from = host->second.collectives;
    for (const trace::ClockRow& row : host->second.polygon.readings())
      head.clocks.push_back(row);
  }
}

} // namespace ncclprobe::analysis::timeline
