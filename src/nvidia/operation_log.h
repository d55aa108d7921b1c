// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ncclprobe::nvidia {

// When each operation of the schedule was enqueued. CUPTI's record of a launch has the host's time
// and the thread, which identifies the operation. CUPTI's own means (external correlation) cost
// some 5% of a 64 KiB all_reduce on 2 H200; this costs nothing measurable.
//
// One thread enqueues (begin, end: a few stores), another looks up. The latest operations are kept.
// A look-up that comes seconds late, or is overtaken, finds nothing rather than a wrong operation.
class OperationLog {
public:
  // Work that is enqueued between begin and end is captured into a graph: nothing is launched.
  static constexpr std::uint32_t k_captured = UINT32_MAX;

  // `places` is a power of two.
  explicit OperationLog(std::size_t places = std::size_t{1} << 19) : entries_(places) {}

  // Uses the clock of CUPTI's records.
  void begin(std::uint32_t operation, std::uint64_t now_ns);
  void end(std::uint64_t now_ns);

  // The operation that this thread (its pthread_t, cut to 32 bits by CUPTI) was enqueueing at that
  // time, which must not be in the future; 0: unknown.
  std::uint32_t at(std::uint32_t thread, std::uint64_t at_ns) const;

private:
  struct Entry {
    std::atomic<std::uint64_t> start_ns{0};
    std::atomic<std::uint64_t> end_ns{0};
    std::atomic<std::uint32_t> operation{0};
  };

  std::uint32_t open_at(std::uint64_t at_ns) const;

  std::vector<Entry> entries_;
  std::atomic<std::uint64_t> ended_{0};         // entries written; the latest are kept
  std::atomic<std::uint64_t> open_start_ns_{0}; // 0: none is open
  std::atomic<std::uint32_t> open_{0};
  std::atomic<std::uint32_t> thread_{0};
};

} // namespace ncclprobe::nvidia
