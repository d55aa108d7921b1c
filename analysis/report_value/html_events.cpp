// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/html_events.h"

#include "analysis/page/packed_column.h"
#include "base/printable.h"

#include <algorithm>
#include <limits>

namespace ncclprobe::analysis {
namespace {

using Numbers = std::vector<std::uint32_t>;

// Differences between times that never fall, in ticks, without rounding twice.
template <typename TimeOf>
Numbers differences(std::size_t count, std::int64_t tick_ns, TimeOf time_of) {
  Numbers column;
  column.reserve(count);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t now = time_of(i) / tick_ns;
    column.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(0, now - last)));
    last = std::max(last, now);
  }
  return column;
}

template <typename LengthOf>
Numbers lengths(std::size_t count, std::int64_t tick_ns, LengthOf length_of) {
  Numbers column;
  column.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    column.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(0, length_of(i)) / tick_ns));
  return column;
}

std::int64_t end_of(const EventLane& lane) {
  std::int64_t end = lane.sums.empty() ? 0 : lane.sums.back().begin_ns + lane.sums.back().length_ns;
  for (std::size_t i = 0; i < lane.start_ns.size(); ++i)
    end = std::max(end, lane.start_ns[i] + lane.length_ns[i]);
  return end;
}

void add_sums(PageData& data, const EventLane& lane, std::size_t kinds, std::int64_t tick_ns) {
  const auto& sums = lane.sums;
  data.key("sums").open('{');
  data.field("begin", packed_column(differences(sums.size(), tick_ns,
                                                [&](std::size_t i) { return sums[i].begin_ns; })));
  data.field("length", packed_column(lengths(sums.size(), tick_ns,
                                             [&](std::size_t i) { return sums[i].length_ns; })));
  data.key("busy").open('[');
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    std::int64_t all_ns = 0;
    data.add(packed_column(differences(
        sums.size(), tick_ns, [&](std::size_t i) { return all_ns += sums[i].busy_ns[kind]; })));
  }
  data.close(']').close('}');
}

} // namespace

void add_events(PageData& data, const EventChart& chart) {
  std::int64_t span_ns = 0;
  std::size_t events = 0;
  for (const EventLane& lane : chart.lanes) {
    span_ns = std::max(span_ns, end_of(lane));
    events += lane.start_ns.size();
  }
  const std::int64_t tick_ns = 1 + span_ns / std::numeric_limits<std::uint32_t>::max();
  data.open('{').field("title", base::printable(chart.title)).field("note", chart.note);
  data.field("tick_ns", Value(tick_ns)).field("span_ns", Value(span_ns));
  data.field("events", Value(events)).key("kinds").open('[');
  for (const std::string& kind : chart.kinds)
    data.add(kind);
  data.close(']').key("names").open('[');
  for (const auto& [name, kind] : chart.names)
    data.open('[').add(base::printable(name)).add(Value(kind)).close(']');
  data.close(']').key("lanes").open('[');
  for (const EventLane& lane : chart.lanes) {
    const std::size_t count = lane.start_ns.size();
    data.open('{').field("name", base::printable(lane.title));
    data.field("start", packed_column(differences(
                            count, tick_ns, [&](std::size_t i) { return lane.start_ns[i]; })));
    data.field("length", packed_column(lengths(count, tick_ns,
                                               [&](std::size_t i) { return lane.length_ns[i]; })));
    data.field("id", packed_column(lane.name));
    if (lane.sums.empty())
      data.field("sums", Value());
    else
      add_sums(data, lane, chart.kinds.size(), tick_ns);
    data.close('}');
  }
  data.close(']').close('}');
}

} // namespace ncclprobe::analysis
