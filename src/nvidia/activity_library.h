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

  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp_callback = nullptr;
  decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushPeriod) flush_period = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;
  decltype(&cuptiGetCallbackName) callback_name = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external_id = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external_id = nullptr;
  // Optional, and missing in some headers: null if this CUPTI lacks them.
  CUptiResult(CUPTIAPI* enable_driver_call)(CUpti_CallbackId, std::uint8_t) = nullptr;
  CUptiResult(CUPTIAPI* enable_runtime_call)(CUpti_CallbackId, std::uint8_t) = nullptr;
  CUptiResult(CUPTIAPI* enable_all_sync_records)(std::uint8_t) = nullptr;
  CUptiResult(CUPTIAPI* enable_event_timestamps)(std::uint8_t) = nullptr;

private:
  CuptiLibrary library_;
  long number_; // its version
};

} // namespace ncclprobe::nvidia
