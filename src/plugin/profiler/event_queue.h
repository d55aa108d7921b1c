// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ncclprobe::plugin {

// A queue from any number of threads to one, in preallocated memory. A writer never waits: if the
// queue is full, its event is counted and dropped. All zeroes is an empty queue, so a queue in
// static memory costs nothing until it is used.
template <typename Event, std::size_t Size>
class EventQueue {
  static_assert((Size & (Size - 1)) == 0, "a power of two");

public:
  void push(const Event& event) {
    std::uint64_t place = next_.load(std::memory_order_relaxed);
    do {
      // Negative: `place` is old, and the reader has passed it.
      const auto ahead = static_cast<std::int64_t>(place - first_.load(std::memory_order_acquire));
      if (ahead >= static_cast<std::int64_t>(Size)) {
        lost_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
    } while (!next_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed));
    Cell& cell = cells_[place % Size];
    cell.event = event;
    cell.written.store(place + 1, std::memory_order_release);
  }

  // For one thread at a time. Also empty if the next writer has not finished yet.
  std::optional<Event> pop() {
    std::uint64_t place = first_.load(std::memory_order_relaxed);
    Cell& cell = cells_[place % Size];
    if (cell.written.load(std::memory_order_acquire) != place + 1)
      return std::nullopt;
    Event event = cell.event;
    first_.store(place + 1, std::memory_order_release);
    return event;
  }

  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

private:
  struct Cell {
    std::atomic<std::uint64_t> written{0}; // place + 1 of what it holds
    Event event;
  };
  alignas(64) std::atomic<std::uint64_t> next_{0};
  alignas(64) std::atomic<std::uint64_t> first_{0};
  alignas(64) std::atomic<std::uint64_t> lost_{0};
  std::array<Cell, Size> cells_{};
};

} // namespace ncclprobe::plugin
