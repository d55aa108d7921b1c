// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/cupti_library.h"

#include <cupti.h>

#include <cstdint>
#include <string>

namespace ncclprobe::nvidia {

// The functions of CUPTI that record what CUDA does, of CUDA 11.8 and later.
class ActivityLibrary {
  CuptiLibrary library_;
  long number_; // its version
  SharedLibrary::Symbol require(const char* symbol) const {
    return library_.library().require(symbol, library_.version());
  }

public:
  // Throws Errc::unsupported unless all functions below exist that are not optional, and the CUDA
  // major version equals that of this build's header.
  explicit ActivityLibrary(const backend::Options& options);

  // How it differs from that header despite the same major version; empty: not at all.
  std::string difference() const;
  std::string version() const { return library_.version(); }

  // CUPTI serves one tool per process. If another tool has it, `other` is that tool's name, if
  // CUPTI reports it (CUDA 13 does).
  CUptiResult subscribe(CUpti_SubscriberHandle& subscriber, CUpti_CallbackFunc callback,
                        std::string& other) const;

  // Otherwise it reports all calls or none (before CUDA 12.5).
  bool chooses_calls() const {
    return enable_driver_call != nullptr && enable_runtime_call != nullptr;
  }
  // Otherwise it crashes when its request for a buffer is refused (before CUDA 12.9).
  bool bears_refusal() const { return number_ >= 27; }

  decltype(&cuptiUnsubscribe) unsubscribe = require("cuptiUnsubscribe");
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp_callback =
      require("cuptiActivityRegisterTimestampCallback");
  decltype(&cuptiActivitySetAttribute) set_attribute = require("cuptiActivitySetAttribute");
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks =
      require("cuptiActivityRegisterCallbacks");
  decltype(&cuptiActivityEnable) enable = require("cuptiActivityEnable");
  decltype(&cuptiActivityDisable) disable = require("cuptiActivityDisable");
  decltype(&cuptiActivityFlushPeriod) flush_period = require("cuptiActivityFlushPeriod");
  decltype(&cuptiActivityFlushAll) flush_all = require("cuptiActivityFlushAll");
  decltype(&cuptiActivityGetNextRecord) next_record = require("cuptiActivityGetNextRecord");
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records =
      require("cuptiActivityGetNumDroppedRecords");
  decltype(&cuptiGetResultString) result_string = require("cuptiGetResultString");
  decltype(&cuptiGetCallbackName) callback_name = require("cuptiGetCallbackName");
  decltype(&cuptiActivityPushExternalCorrelationId) push_external_id =
      require("cuptiActivityPushExternalCorrelationId");
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external_id =
      require("cuptiActivityPopExternalCorrelationId");
  // Optional, and missing in some headers: null if this CUPTI lacks them.
  CUptiResult(CUPTIAPI* enable_driver_call)(CUpti_CallbackId, std::uint8_t) =
      library_.library().optional("cuptiActivityEnableDriverApi");
  CUptiResult(CUPTIAPI* enable_runtime_call)(CUpti_CallbackId, std::uint8_t) =
      library_.library().optional("cuptiActivityEnableRuntimeApi");
  CUptiResult(CUPTIAPI* enable_all_sync_records)(std::uint8_t) =
      library_.library().optional("cuptiActivityEnableAllSyncRecords");
  CUptiResult(CUPTIAPI* enable_event_timestamps)(std::uint8_t) =
      library_.library().optional("cuptiActivityEnableCudaEventDeviceTimestamps");
};

} // namespace ncclprobe::nvidia
