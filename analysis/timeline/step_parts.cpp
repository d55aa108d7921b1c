// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/step_parts.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis::timeline {
namespace {

enum Set : unsigned { k_compute = 1, k_transfer = 2, k_wait = 4, k_memory = 8, k_helper = 16 };

void add_piece(StepParts& parts, unsigned sets, std::int64_t length_ns) {
  parts.length_ns += length_ns;
  bool communicates = (sets & (k_transfer | k_wait)) != 0;
  if (communicates)
    parts.communication_ns += length_ns;
  if ((sets & k_compute) != 0) {
    parts.compute_ns += length_ns;
    if (communicates)
      parts.hidden_ns += length_ns;
  } else if ((sets & k_transfer) != 0) {
    parts.exposed_transfer_ns += length_ns;
  } else if ((sets & k_wait) != 0) {
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

void StepParts::add(const StepParts& other) {
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

std::vector<StepParts> parts_of(const Activities& activities, const Spans& windows) {
  Spans compute, transfer, wait, memory, helper;
  for (const Activity& activity : activities.all) {
    Span whole{activity.start_ns, activity.end_ns};
    switch (activity.kind) {
    case Class::compute:
      compute.push_back(whole);
      break;
    case Class::memory:
      memory.push_back(whole);
      break;
    case Class::helper:
      helper.push_back(whole);
      break;
    case Class::communication:
      wait.push_back({activity.start_ns, activity.ready_ns});
      transfer.push_back({activity.ready_ns, activity.end_ns});
      break;
    }
  }
  compute = unite(std::move(compute));
  transfer = unite(std::move(transfer));
  wait = unite(std::move(wait));
  memory = unite(std::move(memory));
  helper = unite(std::move(helper));
  std::vector<StepParts> out(windows.size());
  cut(windows, {&compute, &transfer, &wait, &memory, &helper},
      [&](std::size_t window, unsigned sets, std::int64_t length_ns) {
        add_piece(out[window], sets, length_ns);
      });
  return out;
}

std::vector<StreamParts> streams_of(const Activities& activities, const Spans& windows) {
  struct OfStream {
    StreamParts parts;
    Spans spans;
  };
  std::map<std::uint16_t, OfStream> streams;
  Spans compute;
  CoverMeter inside(windows);
  for (const Activity& activity : activities.all) {
    if (activity.kind == Class::compute) {
      compute.push_back({activity.start_ns, activity.end_ns});
    } else if (activity.kind == Class::communication) {
      OfStream& stream = streams[activity.stream];
      stream.spans.push_back({activity.start_ns, activity.end_ns});
      stream.parts.kernels +=
          static_cast<std::uint64_t>(inside.covered({activity.start_ns, activity.start_ns + 1}));
    }
  }
  compute = unite(std::move(compute));
  std::vector<StreamParts> out;
  for (auto& [number, stream] : streams) {
    Spans in_windows = intersect(unite(std::move(stream.spans)), unite(windows));
    stream.parts.stream = number;
    stream.parts.communication_ns = length(in_windows);
    stream.parts.hidden_ns = shared_length(in_windows, compute);
    out.push_back(stream.parts);
  }
  return out;
}

} // namespace ncclprobe::analysis::timeline
