// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/nvtx/range_names.h"
#include "plugin/profiler/event_queue.h"
#include "plugin/profiler/open_events.h"
#include "trace/range_rows.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

// The NVTX ranges of the program. Its own threads call: nothing here takes a lock, waits or
// allocates, except that the loader makes a thread's stack at its first range.
namespace ncclprobe::plugin {

struct RangeEnded {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread = 0;
  std::uint16_t name = RangeNames::k_none, domain = RangeNames::k_none;
  std::uint8_t level = 0;
  trace::RangeKind kind = trace::RangeKind::nested;
  std::uint32_t serial = 0; // of a free range: a place has many, one after the other
};

// Zeroes until it is used, so it takes no memory in a process without ranges; 2 MB at most. It has
// a queue of its own: many ranges must not cost events of NCCL.
struct RangeState {
  EventQueue<RangeEnded, 1 << 15> ended;
  OpenEvents<RangeEnded, 1024> open; // free ranges
  RangeNames names;
  std::atomic<std::uint32_t> started{0}; // free ranges

  std::uint64_t lost() const { return ended.lost() + open.lost(); }
};
RangeState& range_state();

inline constexpr std::size_t k_range_levels = 8; // that are recorded
// Levels that are remembered, to match each pop with its push. Deeper ranges must end in the order
// of a stack, whatever their domains are.
inline constexpr std::size_t k_range_stack = 64;

// Whether the next range that this thread pushes is recorded: tracing is on, and it is not too
// deep.
bool takes_range();
// Numbers are those of RangeState::names. Without a name the range is not recorded, but remembered,
// because its pop must match it.
void push_range(std::uint16_t domain, std::optional<std::uint16_t> name);
// The last range of the domain.
void pop_range(std::uint16_t domain);

// For end_range(), on any thread; 0: it is not recorded.
std::uint64_t start_range(std::uint16_t domain, std::uint16_t name);
void end_range(std::uint64_t range);

} // namespace ncclprobe::plugin
