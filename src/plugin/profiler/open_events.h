// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace ncclprobe::plugin {

// Events that have begun but not ended, in a fixed number of places. Any thread takes and returns
// places without waiting. All zeroes is "all free".
template <typename Event, std::size_t Size>
class OpenEvents {
public:
  static constexpr std::uint32_t k_none = UINT32_MAX;

  // Number of a place that the caller now owns; k_none, and counted, if none is free.
  std::uint32_t take() {
    std::uint64_t head = free_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(head) != 0) {
      std::uint32_t number = static_cast<std::uint32_t>(head) - 1;
      std::uint64_t wanted = changed(head) | places_[number].next.load(std::memory_order_relaxed);
      if (free_.compare_exchange_weak(head, wanted, std::memory_order_acquire))
        return opened(number);
    }
    // Empty if it was never used.
    std::uint32_t fresh = fresh_.load(std::memory_order_relaxed);
    while (fresh < Size)
      if (fresh_.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed))
        return opened(fresh);
    lost_.fetch_add(1, std::memory_order_relaxed);
    return k_none;
  }
  Event& at(std::uint32_t number) { return places_[number].event(); }
  bool is_open(std::uint32_t number) const {
    return number < Size && places_[number].open.load(std::memory_order_acquire);
  }
  // False: another thread has just returned it.
  bool give_back(std::uint32_t number) {
    if (!places_[number].open.exchange(false, std::memory_order_acq_rel))
      return false;
    std::uint64_t head = free_.load(std::memory_order_relaxed);
    do {
      places_[number].next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    } while (!free_.compare_exchange_weak(head, changed(head) | (number + 1),
                                          std::memory_order_release));
    return true;
  }

  // Calls visit(Event&) for all open events; nothing may end meanwhile.
  template <typename Visit>
  void for_each_open(Visit visit) {
    for (Place& place : places_)
      if (place.open.load(std::memory_order_acquire))
        visit(place.event());
  }
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

private:
  struct Place {
    std::atomic<std::uint32_t> next{0}; // number + 1 of the next free one
    std::atomic<bool> open{false};
    alignas(Event) std::array<std::byte, sizeof(Event)> memory{};
    Event& event() { return *std::launder(reinterpret_cast<Event*>(memory.data())); }
  };
  static_assert(std::is_trivially_destructible_v<Event>);
  std::uint32_t opened(std::uint32_t number) {
    new (places_[number].memory.data()) Event{};
    places_[number].open.store(true, std::memory_order_release);
    return number;
  }
  // The upper half counts changes, so a head that was taken and came back differs (ABA).
  static std::uint64_t changed(std::uint64_t head) { return ((head >> 32) + 1) << 32; }

  std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint32_t> fresh_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::array<Place, Size> places_{};
};

} // namespace ncclprobe::plugin
