// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/nccl_join.h"
#include "analysis/timeline/thinned.h"

#include <cstdint>
#include <map>

namespace ncclprobe::analysis::timeline {

// Times of NCCL's channels on the GPU's clock.
struct ChannelTimes {
  // For operations whose channels all have times, two or more.
  std::uint64_t operations = 0;
  Thinned starts_apart_ns; // last - first
  Thinned ends_apart_ns;
  std::map<std::uint8_t, Thinned> lengths_ns; // by channel
  void add(const ChannelTimes& other);
};

// NCCL's choice. Texts: TraceSource::texts.
struct NcclChoice {
  int cell = -1; // as in ByCell
  std::uint32_t function = 0, algorithm = 0, protocol = 0;
  std::uint8_t channels = 0;
  auto operator<=>(const NcclChoice&) const = default;
};

// Operations of all ranks that NCCL ran that way. Lengths: from the first to the last channel on
// the GPU, else the kernel's (divided equally among its operations).
struct NcclChoiceTime {
  std::uint64_t operations = 0;
  std::uint64_t timed = 0; // of these, with a length
  std::int64_t length_ns = 0;
  std::int64_t wait_ns = 0; // wait for other ranks; 0 if unknown
  double wait_error_ns = 0; // its possible error, from the clocks' error
  Thinned lengths_ns;
  ChannelTimes channels;
  void add(const NcclChoiceTime& other);
};
using NcclChoices = std::map<NcclChoice, NcclChoiceTime>;

// Within the steps, if there are any. Uses DeviceActivity::ready_ns.
NcclChoices nccl_choices(const RankTrace& trace, const NcclTimes& times, const Joined& joined,
                         const Activities& activities, const OperationIndex& operations);
void add(NcclChoices& to, const NcclChoices& from);

} // namespace ncclprobe::analysis::timeline
