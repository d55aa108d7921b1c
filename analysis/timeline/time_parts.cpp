// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/time_parts.h"

#include <array>
#include <map>

namespace ncclprobe::analysis::timeline {
namespace {

enum Set : unsigned {
  k_compute = 1,
  k_transfer = 2,
  k_communication = 4,
  k_memory = 8,
  k_helper = 16
};

void add_piece(TimeParts& parts, unsigned sets, std::int64_t length_ns) {
  parts.length_ns += length_ns;
  bool communicates = (sets & k_communication) != 0;
  if (communicates)
    parts.communication_ns += length_ns;
  if ((sets & k_compute) != 0) {
    parts.compute_ns += length_ns;
    if (communicates)
      parts.hidden_ns += length_ns;
  } else if ((sets & k_transfer) != 0) {
    parts.exposed_transfer_ns += length_ns;
  } else if (communicates) {
    parts.exposed_wait_ns += length_ns;
  } else if ((sets & k_memory) != 0) {
    parts.memory_ns += length_ns;
  } else if ((sets & k_helper) != 0) {
    parts.helper_ns += length_ns;
  } else {
    parts.idle_ns += length_ns;
  }
}

} // namespace

void TimeParts::add(const TimeParts& other) {
  length_ns += other.length_ns;
  communication_ns += other.communication_ns;
  hidden_ns += other.hidden_ns;
  compute_ns += other.compute_ns;
  exposed_wait_ns += other.exposed_wait_ns;
  exposed_transfer_ns += other.exposed_transfer_ns;
  memory_ns += other.memory_ns;
  helper_ns += other.helper_ns;
  idle_ns += other.idle_ns;
}

BusySets busy_sets(const Activities& activities) {
  std::array<std::size_t, 4> counts{};
  for (const DeviceActivity& activity : activities.all)
    ++counts[static_cast<std::size_t>(activity.kind)];
  BusySets busy;
  std::array<Spans*, 4> sets{&busy.compute, &busy.communication, &busy.memory, &busy.helper};
  for (std::size_t kind = 0; kind < sets.size(); ++kind)
    sets[kind]->reserve(counts[kind]);
  for (const DeviceActivity& activity : activities.all) {
    sets[static_cast<std::size_t>(activity.kind)]->push_back({activity.start_ns, activity.end_ns});
    if (activity.kind == Class::communication)
      busy.transfer.push_back({activity.ready_ns, activity.end_ns});
  }
  for (Spans* set : sets)
    *set = unite(std::move(*set));
  busy.transfer = unite(std::move(busy.transfer));
  return busy;
}

std::vector<TimeParts> parts_of(const BusySets& busy, const Spans& windows) {
  std::vector<TimeParts> out(windows.size());
  cut(windows, {&busy.compute, &busy.transfer, &busy.communication, &busy.memory, &busy.helper},
      [&](std::size_t window, unsigned sets, std::int64_t length_ns) {
        add_piece(out[window], sets, length_ns);
      });
  return out;
}

std::vector<StreamParts> streams_of(const Activities& activities, const Spans& compute,
                                    const Spans& windows) {
  struct OfStream {
    StreamParts parts;
    Spans spans;
  };
  std::map<std::uint16_t, OfStream> streams;
  CoverMeter inside(windows);
  for (const DeviceActivity& activity : activities.all) {
    if (activity.kind != Class::communication)
      continue;
    OfStream& stream = streams[activity.stream];
    stream.spans.push_back({activity.start_ns, activity.end_ns});
    stream.parts.kernels +=
        static_cast<std::uint64_t>(inside.covered({activity.start_ns, activity.start_ns + 1}));
  }
  Spans in_any = unite(windows);
  std::vector<StreamParts> out;
  for (auto& [number, stream] : streams) {
    Spans in_windows = intersect(unite(std::move(stream.spans)), in_any);
    if (in_windows.empty())
      continue;
    stream.parts.stream = number;
    stream.parts.communication_ns = length(in_windows);
    stream.parts.hidden_ns = shared_length(in_windows, compute);
    out.push_back(stream.parts);
  }
  return out;
}

} // namespace ncclprobe::analysis::timeline
