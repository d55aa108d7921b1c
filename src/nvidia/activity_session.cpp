// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/activity_session.h"

#include "base/clock.h"
#include "nvidia/activity_records.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace ncclprobe::nvidia {
namespace {

constexpr std::size_t k_buffers = 32;
constexpr std::size_t k_buffer_bytes = std::size_t{2} << 20;
// Buffers in GPU memory: each holds the times of some 250,000 kernels and copies.
constexpr std::size_t k_device_buffer_bytes = std::size_t{8} << 20;
constexpr std::size_t k_device_buffers = 16;
constexpr std::uint32_t k_flush_period_ms = 500;

// CUPTI's callbacks have no user pointer. Never freed: CUPTI may call until the process ends.
std::atomic<ActivityBuffers*> buffers_of_process{nullptr};

// The buffer for a CUPTI that crashes on a refusal, if no buffer is free. Nobody reads it, but its
// records are counted.
constexpr std::size_t k_spare_bytes = std::size_t{64} << 10;
std::atomic<decltype(&cuptiActivityGetNextRecord)> next_of_spare{nullptr}; // null: may be refused
std::atomic<std::uint64_t> lost_in_spares{0};

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  ActivityBuffers* buffers = buffers_of_process;
  *most_records = 0; // as many as fit
  *buffer = buffers->take();
  *bytes = *buffer == nullptr ? 0 : buffers->bytes_each();
  if (*buffer == nullptr && next_of_spare.load() != nullptr) {
    *buffer = static_cast<std::uint8_t*>(std::calloc(1, k_spare_bytes)); // NOLINT: CUPTI holds it
    *bytes = *buffer == nullptr ? 0 : k_spare_bytes;
  }
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                        std::size_t valid_bytes) {
  if (buffers_of_process.load()->give(buffer, valid_bytes))
    return;
  CUpti_Activity* record = nullptr;
  auto next = next_of_spare.load();
  while (next != nullptr && valid_bytes > 0 && next(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
    ++lost_in_spares;
  std::free(buffer); // NOLINT: from requested()
}

std::uint64_t CUPTIAPI timestamp() {
  return static_cast<std::uint64_t>(base::monotonic_ns());
}

void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

} // namespace

ActivitySession::ActivitySession(ActivityLibrary library, model::TraceLevel level)
    : library_(std::move(library)) {
  subscribe();
  try {
    configure(level);
  } catch (...) {
    stop();
    throw;
  }
}

ActivitySession::~ActivitySession() {
  flush(Flush::forced);
  stop();
  // Records that nobody has read are useless to the next session.
  for (auto full = buffers_->next({}); full.data != nullptr; full = buffers_->next({}))
    buffers_->put_back(full);
}

void ActivitySession::stop() {
  for (CUpti_ActivityKind kind : enabled_)
    (void)library_.disable(kind);
  if (library_.chooses_calls()) {
    for (const TracedCall& call : runtime_calls())
      (void)library_.enable_runtime_call(call.id, 0);
    for (const TracedCall& call : driver_calls())
      (void)library_.enable_driver_call(call.id, 0);
  }
  (void)library_.unsubscribe(subscriber_);
}

void ActivitySession::check(CUptiResult result, const char* what) const {
  if (result == CUPTI_SUCCESS)
    return;
  const char* words = nullptr;
  (void)library_.result_string(result, &words);
  raise(Errc::unsupported, "CUPTI cannot {}: {} ({})", what, words == nullptr ? "" : words,
        static_cast<int>(result));
}

void ActivitySession::subscribe() {
  std::string other;
  CUptiResult result = library_.subscribe(subscriber_, ignore, other);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    raise(Errc::unsupported, "CUPTI serves one tool per process, and another tool has it: {}",
          other.empty() ? "a tool that it does not name" : other);
  check(result, "be used");
}

void ActivitySession::configure(model::TraceLevel level) {
  const ActivityLibrary& cupti = library_;
  check(cupti.register_timestamp_callback(timestamp), "use our clock");
  auto set = [&](CUpti_ActivityAttribute attribute, auto value, const char* what) {
    std::size_t bytes = sizeof value;
    check(cupti.set_attribute(attribute, &bytes, &value), what);
  };
  set(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, k_device_buffer_bytes, "set its buffers' size");
  set(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, k_device_buffers, "limit its buffers");
  set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, std::uint8_t{1}, "take zeroed buffers");
  if (buffers_of_process == nullptr)
    try {
      buffers_of_process = new ActivityBuffers(k_buffers, k_buffer_bytes);
    } catch (const std::bad_alloc&) {
      raise(Errc::unavailable, "no {} MiB of memory for the trace's buffers",
            k_buffers * k_buffer_bytes >> 20);
    }
  buffers_ = buffers_of_process;
  if (!cupti.bears_refusal())
    next_of_spare = cupti.next_record;
  check(cupti.register_callbacks(requested, completed), "use our buffers");

  auto enable = [&](CUpti_ActivityKind kind) {
    check(cupti.enable(kind), "record");
    enabled_.push_back(kind);
  };
  enable(CUPTI_ACTIVITY_KIND_STREAM);
  // Never KIND_KERNEL: it serialises kernels.
  enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  enable(CUPTI_ACTIVITY_KIND_MEMCPY);
  enable(CUPTI_ACTIVITY_KIND_MEMCPY2); // between peers
  enable(CUPTI_ACTIVITY_KIND_MEMSET);
  enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
  enable(CUPTI_ACTIVITY_KIND_ENVIRONMENT);
  bool all_calls = level != model::TraceLevel::kernels;
  if (all_calls) {
    enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    if (cupti.enable_all_sync_records != nullptr)
      check(cupti.enable_all_sync_records(0), "leave out queries of what is not done");
  }
  if (all_calls && k_tells_event_times && cupti.enable_event_timestamps != nullptr) {
    enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
    check(cupti.enable_event_timestamps(1), "tell the times of events");
  }
  if (level == model::TraceLevel::full)
    enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  // The driver's calls also show what the runtime launches. Tracing any runtime call makes all of
  // them slower: NCCL makes some 25 per operation, and tracing 64 KiB on 2 H200 then costs 37%
  // instead of 16%. A CUPTI that cannot choose calls (seen with 11.8 and 12.4) does not report
  // driver calls that the runtime makes.
  if (!cupti.chooses_calls()) {
    enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    enable(CUPTI_ACTIVITY_KIND_DRIVER);
  } else {
    // If this CUPTI does not know a call, the call cannot be made either.
    if (all_calls)
      for (const TracedCall& call : runtime_calls())
        (void)cupti.enable_runtime_call(call.id, 1);
    for (const TracedCall& call : driver_calls())
      if (all_calls || call.purpose != CallPurpose::order)
        (void)cupti.enable_driver_call(call.id, 1);
  }
  check(cupti.flush_period(k_flush_period_ms), "flush now and then");
}

void ActivitySession::push_operation(std::uint32_t id) const {
  (void)library_.push_external_id(k_operation_kind, id);
}

void ActivitySession::pop_operation() const {
  std::uint64_t id = 0;
  (void)library_.pop_external_id(k_operation_kind, &id);
}

void ActivitySession::flush(Flush flush) const {
  (void)library_.flush_all(flush == Flush::forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

std::uint64_t ActivitySession::dropped() const {
  std::size_t dropped = 0;
  if (library_.dropped_records(nullptr, 0, &dropped) != CUPTI_SUCCESS)
    dropped = 0;
  return dropped + lost_in_spares.exchange(0);
}

} // namespace ncclprobe::nvidia
