// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/activity_library.h"

#include <array>
#include <cstdlib>

namespace ncclprobe::nvidia {
namespace {

// CUDA's major version from CUPTI's own number: 130001 is CUDA 13. Earlier versions counted 1, 2,
// ... 28, and 19 was the first of CUDA 12.
long cuda_major_of(long number) {
  if (number >= 10000)
    return number / 10000;
  return number >= 19 ? 12 : 11;
}

} // namespace

ActivityLibrary::ActivityLibrary(const backend::Options& options)
    : library_(options), number_(std::atol(library_.version().c_str())) {
  if (cuda_major_of(number_) != cuda_major_of(CUPTI_API_VERSION))
    throw Exception(Error{
        Errc::unsupported,
        fmt::format("CUPTI {} ({}) belongs to CUDA {}, but this build reads the records of CUDA {}",
                    library_.version(), library_.path(), cuda_major_of(number_),
                    cuda_major_of(CUPTI_API_VERSION)),
        fmt::format("name CUDA {}'s with --library cupti=/path/libcupti.so",
                    cuda_major_of(CUPTI_API_VERSION))});
  auto find = [&](auto& function, const char* symbol) {
    library_.library().require(function, symbol, library_.version());
  };
  find(unsubscribe, "cuptiUnsubscribe");
  find(register_timestamp_callback, "cuptiActivityRegisterTimestampCallback");
  find(set_attribute, "cuptiActivitySetAttribute");
  find(register_callbacks, "cuptiActivityRegisterCallbacks");
  find(enable, "cuptiActivityEnable");
  find(disable, "cuptiActivityDisable");
  find(flush_period, "cuptiActivityFlushPeriod");
  find(flush_all, "cuptiActivityFlushAll");
  find(next_record, "cuptiActivityGetNextRecord");
  find(dropped_records, "cuptiActivityGetNumDroppedRecords");
  find(result_string, "cuptiGetResultString");
  find(callback_name, "cuptiGetCallbackName");
  find(push_external_id, "cuptiActivityPushExternalCorrelationId");
  find(pop_external_id, "cuptiActivityPopExternalCorrelationId");
  auto look_for = [&](auto& function, const char* symbol) {
    function = library_.library().optional<std::decay_t<decltype(function)>>(symbol);
  };
  look_for(enable_driver_call, "cuptiActivityEnableDriverApi");
  look_for(enable_runtime_call, "cuptiActivityEnableRuntimeApi");
  look_for(enable_all_sync_records, "cuptiActivityEnableAllSyncRecords");
  look_for(enable_event_timestamps, "cuptiActivityEnableCudaEventDeviceTimestamps");
}

CUptiResult ActivityLibrary::subscribe(CUpti_SubscriberHandle& subscriber,
                                       CUpti_CallbackFunc callback, std::string& other) const {
  other.clear();
#if CUPTI_API_VERSION >= 130000
  decltype(&cuptiSubscribe_v2) ask = nullptr;
  library_.library().require(ask, "cuptiSubscribe_v2", library_.version());
  std::array<char, 2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> name{};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "ncclprobe";
  parameters.oldSubscriberName = name.data();
  parameters.oldSubscriberSize = name.size();
  CUptiResult result = ask(&subscriber, callback, nullptr, &parameters);
  name.back() = '\0';
  other = name.data();
  return result;
#else
  decltype(&cuptiSubscribe) ask = nullptr;
  library_.library().require(ask, "cuptiSubscribe", library_.version());
  return ask(&subscriber, callback, nullptr);
#endif
}

std::string ActivityLibrary::difference() const {
  if (library_.version() == std::to_string(CUPTI_API_VERSION))
    return "";
  return fmt::format("CUPTI {} is loaded, this build was made with {}", library_.version(),
                     CUPTI_API_VERSION);
}

} // namespace ncclprobe::nvidia
