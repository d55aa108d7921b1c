// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/fake_cupti.h"

#include <algorithm>
#include <set>

// A CUPTI that only records what it is asked for. FAKE_CUPTI_OTHER: of another CUDA major version;
// FAKE_CUPTI_PLAIN: an early one of this build's major version, without later functions.
namespace {

std::set<int> kinds;
std::set<std::uint32_t> calls;
std::set<std::uint32_t> runtime_calls;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;

#ifndef FAKE_CUPTI_PLAIN
CUptiResult set_call(std::set<std::uint32_t>& all, CUpti_CallbackId call, std::uint8_t on) {
  if (on != 0)
    all.insert(call);
  else
    all.erase(call);
  return CUPTI_SUCCESS;
}
#endif

} // namespace

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* version) {
#if defined(FAKE_CUPTI_OTHER)
  *version = CUPTI_API_VERSION >= 130000 ? 22 : 130001;
#elif defined(FAKE_CUPTI_PLAIN)
  *version = CUPTI_API_VERSION >= 130000 ? 130000 : std::min(CUPTI_API_VERSION, 19);
#else
  *version = CUPTI_API_VERSION;
#endif
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, std::size_t*, void*) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  request = requested;
  complete = completed;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  kinds.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  kinds.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushPeriod(std::uint32_t) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  return CUPTI_SUCCESS;
}
// Each byte is a record.
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes,
                                       CUpti_Activity** record) {
  auto* at = reinterpret_cast<std::uint8_t*>(*record);
  at = at == nullptr ? buffer : at + 1;
  if (at == buffer + bytes)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** words) {
  *words = "fake";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, std::uint32_t, const char** name) {
  *name = "fake";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t*) {
  return CUPTI_SUCCESS;
}
#if CUPTI_API_VERSION >= 130000
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*,
                              CUpti_SubscriberParams*) {
  return CUPTI_SUCCESS;
}
#endif
#ifndef FAKE_CUPTI_PLAIN
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId call, std::uint8_t on) {
  return set_call(calls, call, on);
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId call, std::uint8_t on) {
  return set_call(runtime_calls, call, on);
}
CUptiResult cuptiActivityEnableAllSyncRecords(std::uint8_t) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(std::uint8_t) {
  return CUPTI_SUCCESS;
}
#endif

int fake_cupti_records(int kind) {
  return kinds.contains(kind) ? 1 : 0;
}
int fake_cupti_calls() {
  return static_cast<int>(calls.size());
}
int fake_cupti_runtime_calls() {
  return static_cast<int>(runtime_calls.size());
}
std::uint8_t* fake_cupti_request(std::size_t* bytes) {
  std::uint8_t* buffer = nullptr;
  std::size_t most_records = 0;
  request(&buffer, bytes, &most_records);
  return buffer;
}
void fake_cupti_complete(std::uint8_t* buffer, std::size_t valid_bytes) {
  complete(nullptr, 0, buffer, valid_bytes, valid_bytes);
}
}
