// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/words.h"
#include "trace/range_rows.h"

#include "base/hash.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ncclprobe::plugin {

using RangeName = Word<64>;

// Ids for the names of NVTX ranges and domains. For any thread, without waiting; all zeroes is
// empty. The number of names is limited, and programs count in them ("iteration 17"). After k_exact
// names, the digits of new ones are replaced. When the table is full, a new name is k_others.
class RangeNames {
public:
  static constexpr std::size_t k_names = 1024;
  static constexpr std::size_t k_exact = 512;
  static constexpr std::uint16_t k_none = 0;
  static constexpr std::uint16_t k_others = k_names;

  std::uint16_t number_of(const RangeName& name) {
    if (name.text().empty())
      return k_none;
    const bool may_add = used_.load(std::memory_order_relaxed) < k_exact;
    if (const std::uint16_t number = find(name, may_add); number != k_none)
      return number;
    RangeName without_numbers;
    trace::write_without_numbers(name.text(), without_numbers.letters.data());
    const std::uint16_t number = find(without_numbers, true);
    return number != k_none ? number : k_others;
  }
  std::string_view text(std::uint16_t number) const {
    if (number == k_others)
      return "(other names)";
    return number < k_names ? entries_[number].name.text() : "";
  }

private:
  struct Entry {
    std::atomic<std::uint64_t> hash{0};
    std::atomic<bool> ready{false};
    RangeName name;
  };
  static constexpr std::size_t k_most_tries = 64;

  // k_none: it is not there, and was not added.
  std::uint16_t find(const RangeName& name, bool may_add) {
    const std::uint64_t hash = base::Hash().add(name.text()).value() | 1; // 0: a free entry
    for (std::size_t tried = 0; tried < k_most_tries; ++tried) {
      const std::size_t number = 1 + (hash / 2 + tried) % (k_names - 1);
      Entry& entry = entries_[number];
      std::uint64_t known = entry.hash.load(std::memory_order_acquire);
      if (known == 0) {
        if (!may_add)
          return k_none;
        if (entry.hash.compare_exchange_strong(known, hash)) {
          entry.name = name;
          entry.ready.store(true, std::memory_order_release);
          used_.fetch_add(1, std::memory_order_relaxed);
          return static_cast<std::uint16_t>(number);
        }
      }
      // Another thread may be writing the same name. Then it gets a second number.
      if (known == hash && entry.ready.load(std::memory_order_acquire) &&
          entry.name.text() == name.text())
        return static_cast<std::uint16_t>(number);
    }
    return k_none;
  }

  std::atomic<std::uint32_t> used_{0};
  std::array<Entry, k_names> entries_{};
};

} // namespace ncclprobe::plugin
