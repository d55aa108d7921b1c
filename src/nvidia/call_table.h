// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ncclprobe::nvidia {

// The latest calls that launched or copied, by CUPTI's correlation number. These numbers increase
// over all threads. One place for each of the latest million calls is therefore enough to join
// records in any order, in constant memory.
class CallTable {
public:
  struct Call {
    std::uint32_t correlation = 0; // 0: unused
    std::uint32_t operation = 0;   // of the schedule, by time; 0: none
    std::uint32_t told = 0;        // from CUPTI; 0: not reported, or already compared
    std::uint32_t kernels = 0;     // kernel records that belong to the call
    bool has_record = false;       // time of the call itself, which identifies the operation
    bool has_copy = false;
  };

  // `places` is a power of two.
  explicit CallTable(std::size_t places = std::size_t{1} << 20) : calls_(places) {}

  // Null if it is unknown or forgotten.
  const Call* find(std::uint32_t correlation) const {
    const Call& call = calls_[correlation & (calls_.size() - 1)];
    return call.correlation == correlation && correlation != 0 ? &call : nullptr;
  }
  // Its place, empty if it is new; null if a newer call has it.
  Call* at(std::uint32_t correlation) {
    Call& call = calls_[correlation & (calls_.size() - 1)];
    if (call.correlation == correlation)
      return &call;
    if (call.correlation != 0 && static_cast<std::int32_t>(correlation - call.correlation) < 0)
      return nullptr;
    call = {};
    call.correlation = correlation;
    return &call;
  }

private:
  std::vector<Call> calls_;
};

} // namespace ncclprobe::nvidia
