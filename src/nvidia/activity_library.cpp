// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/activity_library.h"

#include <cstdlib>

namespace ncclprobe::nvidia {
namespace {

// 130001 -> 13: before CUDA 13 CUPTI counted 1, 2, ... 28.
long major_of(long version) {
  return version / 10000;
}

} // namespace

ActivityLibrary::ActivityLibrary(const backend::Options& options) : library_(options) {
  if (major_of(std::atol(library_.version().c_str())) != major_of(CUPTI_API_VERSION))
    base::raise(
        base::Errc::unsupported,
        "CUPTI {} ({}) lays out its records otherwise than CUPTI {}, which this build reads",
        library_.version(), library_.path(), CUPTI_API_VERSION);
  auto find = [&](auto& function, const char* symbol) {
    library_.library().require(function, symbol, library_.version());
  };
  find(subscribe, "cuptiSubscribe_v2");
  find(unsubscribe, "cuptiUnsubscribe");
  find(register_timestamp_callback, "cuptiActivityRegisterTimestampCallback");
  find(set_attribute, "cuptiActivitySetAttribute");
  find(register_callbacks, "cuptiActivityRegisterCallbacks");
  find(enable, "cuptiActivityEnable");
  find(disable, "cuptiActivityDisable");
  find(enable_driver_call, "cuptiActivityEnableDriverApi");
  find(enable_runtime_call, "cuptiActivityEnableRuntimeApi");
  find(enable_all_sync_records, "cuptiActivityEnableAllSyncRecords");
  find(enable_event_timestamps, "cuptiActivityEnableCudaEventDeviceTimestamps");
  find(flush_period, "cuptiActivityFlushPeriod");
  find(flush_all, "cuptiActivityFlushAll");
  find(next_record, "cuptiActivityGetNextRecord");
  find(dropped_records, "cuptiActivityGetNumDroppedRecords");
  find(result_string, "cuptiGetResultString");
}

std::string ActivityLibrary::difference() const {
  if (library_.version() == std::to_string(CUPTI_API_VERSION))
    return "";
  return fmt::format("CUPTI {} is loaded, this build was made with {}", library_.version(),
                     CUPTI_API_VERSION);
}

} // namespace ncclprobe::nvidia
