// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace ncclprobe::plugin {

// The rank whose communicator uses a device of CUDA. For any thread; all zeroes is empty.
class DeviceRanks {
public:
  // `is_first`: of the process.
  void add(int device, int rank, bool is_first) {
    if (is_first)
      first_ = rank;
    if (const auto place = static_cast<std::size_t>(device); place < ranks_.size())
      ranks_[place] = rank + 1;
  }
  // That of the first communicator if none uses the device.
  int of(int device) const {
    const auto place = static_cast<std::size_t>(device);
    const int known = place < ranks_.size() ? ranks_[place].load() : 0;
    return known > 0 ? known - 1 : first_.load();
  }

private:
  std::array<std::atomic<int>, 64> ranks_{}; // rank + 1; 0: unknown
  std::atomic<int> first_{0};
};

} // namespace ncclprobe::plugin
