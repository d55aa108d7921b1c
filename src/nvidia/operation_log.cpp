// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/operation_log.h"

#include <algorithm>
#include <pthread.h>

namespace ncclprobe::nvidia {

void OperationLog::begin(std::uint32_t operation, std::uint64_t now_ns) {
  if (thread_.load(std::memory_order_relaxed) == 0)
    thread_.store(static_cast<std::uint32_t>(pthread_self()), std::memory_order_relaxed);
  open_.store(operation, std::memory_order_release);
  open_start_ns_.store(now_ns, std::memory_order_release);
}

void OperationLog::end(std::uint64_t now_ns) {
  std::uint64_t ended = ended_.load(std::memory_order_relaxed);
  Entry& entry = entries_[ended & (entries_.size() - 1)];
  entry.start_ns.store(open_start_ns_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  entry.end_ns.store(now_ns, std::memory_order_relaxed);
  entry.operation.store(open_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  ended_.store(ended + 1, std::memory_order_release);
  open_start_ns_.store(0, std::memory_order_release);
}

// An operation that is still open and began before that time was open at that time.
std::uint32_t OperationLog::open_at(std::uint64_t at_ns) const {
  std::uint64_t start_ns = open_start_ns_.load(std::memory_order_acquire);
  if (start_ns == 0 || start_ns > at_ns)
    return 0;
  std::uint32_t operation = open_.load(std::memory_order_acquire);
  // Start times only grow: if it is unchanged, the number belongs to it.
  return open_start_ns_.load(std::memory_order_acquire) == start_ns ? operation : 0;
}

std::uint32_t OperationLog::at(std::uint32_t thread, std::uint64_t at_ns) const {
  if (thread != thread_.load(std::memory_order_relaxed))
    return 0;
  if (std::uint32_t open = open_at(at_ns))
    return open;
  // An entry is written before its operation is closed. The oldest entries may be overwritten
  // during the search, so it skips an eighth of them.
  std::uint64_t last = ended_.load(std::memory_order_acquire);
  std::uint64_t spare = entries_.size() / 8;
  std::uint64_t kept = entries_.size() - spare;
  std::uint64_t first = last - std::min(last, kept);
  std::uint64_t count = last - first;
  while (count > 0) { // the first that had not ended by then
    std::uint64_t half = count / 2;
    const Entry& middle = entries_[(first + half) & (entries_.size() - 1)];
    if (middle.end_ns.load(std::memory_order_relaxed) < at_ns) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  if (first == last)
    return 0;
  const Entry& entry = entries_[first & (entries_.size() - 1)];
  std::uint32_t operation = entry.start_ns.load(std::memory_order_relaxed) <= at_ns
                                ? entry.operation.load(std::memory_order_relaxed)
                                : 0;
  std::atomic_thread_fence(std::memory_order_acquire);
  bool overtaken = ended_.load(std::memory_order_relaxed) - last >= spare;
  return overtaken ? 0 : operation;
}

} // namespace ncclprobe::nvidia
