// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ncclprobe::plugin {

// Which channels run, by their places in OpenEvents. NCCL's threads set and clear it without
// waiting, and another thread may look meanwhile. All zeroes is "none".
template <std::size_t Size>
class OpenChannels {
public:
  // `at_ns` is not 0.
  void begin(std::uint32_t place, std::uint32_t operation, std::uint64_t at_ns) {
    operation_[place].store(operation, std::memory_order_relaxed);
    begun_ns_[place].store(at_ns, std::memory_order_release);
  }
  void end(std::uint32_t place) { begun_ns_[place].store(0, std::memory_order_release); }

  // Calls visit(operation) for each channel that began at `latest_ns` or before, and runs.
  template <typename Visit>
  void for_each_since(std::uint64_t latest_ns, Visit visit) const {
    for (std::size_t place = 0; place < Size; ++place) {
      const std::uint64_t begun_ns = begun_ns_[place].load(std::memory_order_acquire);
      if (begun_ns == 0 || begun_ns > latest_ns)
        continue;
      const std::uint32_t operation = operation_[place].load(std::memory_order_acquire);
      if (begun_ns_[place].load(std::memory_order_relaxed) == begun_ns) // not another one meanwhile
        visit(operation);
    }
  }

private:
  std::array<std::atomic<std::uint64_t>, Size> begun_ns_{};
  std::array<std::atomic<std::uint32_t>, Size> operation_{};
};

} // namespace ncclprobe::plugin
