// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/activity_records.h"

#include <cstdint>
#include <cstdlib>

// CUPTI's records as a test makes them.
namespace ncclprobe::nvidia {

// As a CUPTI of this header's version writes them, longer than what is read.
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
