// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/activity_records.h"
#include "nvidia/record_decoder.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

// CUPTI's records as a test makes them.
namespace ncclprobe::nvidia {

// Records as a CUPTI of this header's version writes them, longer than the part that is read.
#if CUPTI_API_VERSION >= 130000
using MadeKernel = CUpti_ActivityKernel10;
using MadeCopy = CUpti_ActivityMemcpy6;
#elif CUPTI_API_VERSION >= 22
using MadeKernel = CUpti_ActivityKernel9;
using MadeCopy = CUpti_ActivityMemcpy5;
#else
using MadeKernel = CUpti_ActivityKernel8;
using MadeCopy = CUpti_ActivityMemcpy5;
#endif

// A buffer that stands in for CUPTI's: each record behind its size.
class Buffer {
public:
  template <typename Record>
  Buffer& operator<<(const Record& record) {
    std::uint64_t size = sizeof record;
    std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof size + sizeof record);
    std::memcpy(bytes_.data() + at, &size, sizeof size);
    std::memcpy(bytes_.data() + at + sizeof size, &record, sizeof record);
    return *this;
  }
  // Something that is not a record.
  Buffer& torn() {
    std::uint64_t size = UINT64_MAX;
    std::size_t at = bytes_.size();
    bytes_.resize(at + 2 * sizeof size);
    std::memcpy(bytes_.data() + at, &size, sizeof size);
    return *this;
  }
  void into(RecordDecoder& decoder) { decoder.decode(bytes_.data(), bytes_.size()); }

private:
  std::vector<std::uint8_t> bytes_;
};

template <typename Record>
void set_instance(Record& record, std::uint64_t instance) {
  if constexpr (requires { record.cudaEventSyncId; })
    record.cudaEventSyncId = instance;
}
template <typename Record>
void give_data(Record& overhead) {
  if constexpr (requires { overhead.overheadData; })
    overhead.overheadData = std::malloc(8); // freed by its reader: the leak checker sees
}
template <typename Record>
void set_time(Record& event, std::uint64_t at_ns) {
  if constexpr (requires { event.deviceTimestamp; })
    event.deviceTimestamp = at_ns;
}

} // namespace ncclprobe::nvidia
