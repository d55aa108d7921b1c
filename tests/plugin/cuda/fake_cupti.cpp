// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/fake_cupti.h"

#include "plugin/cuda/cupti_abi.h"

#include <array>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

// A CUPTI whose kernels are calls of fake_kernel(). Like CUPTI, it asks for buffers, fills them and
// gives them back when they are flushed. One subscriber at a time.
namespace {

using namespace ncclprobe::plugin::cupti;

std::recursive_mutex mutex;
std::set<std::uint32_t> kinds;
BufferRequested request = nullptr;
BufferCompleted complete = nullptr;
Timestamp timestamp = nullptr;
std::uint8_t* buffer = nullptr;
std::size_t buffer_bytes = 0, used = 0;
std::uint64_t dropped = 0, all_dropped = 0;
std::string holder;
int subscriptions = 0;

std::size_t bytes_of(std::uint32_t kind) {
  return kind == k_kernel ? sizeof(KernelRecord) : sizeof(CopyRecord);
}

void give_back() {
  if (buffer != nullptr)
    complete(nullptr, 0, buffer, buffer_bytes, used);
  buffer = nullptr;
  used = 0;
}

template <typename Recorded>
void record(const Recorded& one) {
  std::lock_guard lock(mutex);
  if (!kinds.contains(one.kind))
    return;
  if (buffer != nullptr && used + sizeof one > buffer_bytes)
    give_back();
  if (buffer == nullptr) {
    std::size_t most = 0;
    request(&buffer, &buffer_bytes, &most);
  }
  if (buffer == nullptr) {
    ++dropped;
    ++all_dropped;
    return;
  }
  std::memcpy(buffer + used, &one, sizeof one);
  used += sizeof one;
}

} // namespace

extern "C" {

Result cuptiGetVersion(std::uint32_t* version) {
  *version = 130001;
  return k_success;
}
Result cuptiSubscribe(Subscriber* subscriber, Callback, void*) {
  std::lock_guard lock(mutex);
  if (!holder.empty())
    return k_other_subscriber;
  holder = "ncclprobe";
  ++subscriptions;
  *subscriber = &holder;
  return k_success;
}
Result cuptiSubscribe_v2(Subscriber* subscriber, Callback callback, void* user,
                         SubscriberParameters* parameters) {
  std::lock_guard lock(mutex);
  if (!holder.empty())
    parameters->other_name[holder.copy(parameters->other_name, parameters->other_bytes - 1)] = '\0';
  return cuptiSubscribe(subscriber, callback, user);
}
Result cuptiUnsubscribe(Subscriber) {
  std::lock_guard lock(mutex);
  holder.clear();
  return k_success;
}
Result cuptiActivityRegisterTimestampCallback(Timestamp asked) {
  timestamp = asked;
  return k_success;
}
Result cuptiActivityRegisterCallbacks(BufferRequested requested, BufferCompleted completed) {
  std::lock_guard lock(mutex);
  request = requested;
  complete = completed;
  return k_success;
}
Result cuptiActivitySetAttribute(std::uint32_t, std::size_t*, void*) {
  return k_success;
}
Result cuptiActivityEnable(std::uint32_t kind) {
  std::lock_guard lock(mutex);
  kinds.insert(kind);
  return k_success;
}
Result cuptiActivityDisable(std::uint32_t kind) {
  std::lock_guard lock(mutex);
  kinds.erase(kind);
  return k_success;
}
Result cuptiActivityFlushAll(std::uint32_t) {
  std::lock_guard lock(mutex);
  give_back();
  return k_success;
}
Result cuptiActivityGetNextRecord(std::uint8_t* from, std::size_t bytes, Record** next) {
  auto* at = reinterpret_cast<std::uint8_t*>(*next);
  at = at == nullptr ? from : at + bytes_of((*next)->kind);
  if (at >= from + bytes)
    return k_no_more_records;
  *next = reinterpret_cast<Record*>(at);
  return k_success;
}
Result cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* count) {
  std::lock_guard lock(mutex);
  *count = dropped;
  dropped = 0;
  return k_success;
}
Result cuptiGetResultString(Result, const char** words) {
  *words = "fake";
  return k_success;
}

void fake_kernel(const char* name, std::uint64_t start_ns, std::uint64_t end_ns,
                 std::uint32_t stream) {
  KernelRecord one{};
  one.kind = k_kernel;
  one.name = name;
  one.start = start_ns;
  one.end = end_ns;
  one.stream = stream;
  one.context = 1;
  one.grid_x = 4, one.grid_y = one.grid_z = 1;
  one.block_x = 32, one.block_y = one.block_z = 1;
  record(one);
}
void fake_copy(std::uint8_t kind, std::uint64_t bytes, std::uint64_t start_ns,
               std::uint64_t end_ns) {
  CopyRecord one{};
  one.kind = k_copy;
  one.copy_kind = kind;
  one.bytes = bytes;
  one.start = start_ns;
  one.end = end_ns;
  one.stream = 7;
  one.context = 1;
  record(one);
}
void fake_other_tool(const char* name) {
  std::lock_guard lock(mutex);
  holder = name == nullptr ? "" : name;
}
int fake_is_recording() {
  std::lock_guard lock(mutex);
  return kinds.contains(k_kernel) ? 1 : 0;
}
int fake_subscriptions() {
  std::lock_guard lock(mutex);
  return subscriptions;
}
std::uint64_t fake_timestamp() {
  return timestamp == nullptr ? 0 : timestamp();
}
std::uint64_t fake_dropped() {
  std::lock_guard lock(mutex);
  return all_dropped;
}
}
