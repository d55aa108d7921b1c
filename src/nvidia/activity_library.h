// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/cupti_library.h"

#include <cupti.h>

#include <string>

namespace ncclprobe::nvidia {

// The functions of CUPTI that record what CUDA does, of CUDA 13 and later.
class ActivityLibrary {
public:
  // Throws Errc::unsupported unless all functions below are there and its records are laid out as
  // in the header that this build saw.
  explicit ActivityLibrary(const backend::Options& options);

  // How it differs from that header though it is of the same major version; empty: not at all.
  std::string difference() const;

  decltype(&cuptiSubscribe_v2) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp_callback = nullptr;
  decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityEnableDriverApi) enable_driver_call = nullptr;
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime_call = nullptr;
  decltype(&cuptiActivityEnableAllSyncRecords) enable_all_sync_records = nullptr;
  decltype(&cuptiActivityEnableCudaEventDeviceTimestamps) enable_event_timestamps = nullptr;
  decltype(&cuptiActivityFlushPeriod) flush_period = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;

private:
  CuptiLibrary library_;
};

} // namespace ncclprobe::nvidia
