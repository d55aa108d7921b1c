// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace ncclprobe::plugin {
namespace {

// A companion of 100 cells on 8 ranks makes some 10,000 records (each barrier adds a few).
constexpr std::size_t k_records = 1 << 15;
constexpr std::size_t k_contexts = 1024;

struct Context {
  std::uint64_t communicator = 0;
  std::int32_t size = 0;
  std::int32_t rank = 0;
};

// Zeroes until they are used, so they take no memory in a process without NCCL.
std::array<Record, k_records> records;
std::array<std::atomic<bool>, k_records> written;
std::array<Context, k_contexts> contexts;
std::atomic<std::size_t> next_slot{0};
std::atomic<std::size_t> next_context{0};
std::atomic<bool> recording{false};
std::atomic<int> version_in_use{0};
std::atomic<std::int32_t> current_cell{-1};

} // namespace

void start_recording() {
  recording = true;
}

void enter_cell(int cell) {
  current_cell = cell;
}

std::vector<Record> recorded() {
  std::vector<Record> all;
  std::size_t used = std::min(next_slot.load(), k_records);
  for (std::size_t i = 0; i < used; ++i)
    if (written[i].load(std::memory_order_acquire))
      all.push_back(records[i]);
  return all;
}

std::uint64_t not_recorded() {
  std::size_t asked = next_slot.load();
  return asked > k_records ? asked - k_records : 0;
}

int interface_version() {
  return version_in_use;
}

void* open_context(int version, std::uint64_t communicator, int size, int rank) {
  if (!recording)
    return nullptr;
  std::size_t index = next_context.fetch_add(1);
  if (index >= k_contexts)
    return nullptr;
  version_in_use = version;
  contexts[index] = {communicator, size, rank};
  return &contexts[index];
}

Record* begin_record(void* context) {
  if (context == nullptr)
    return nullptr;
  std::size_t index = next_slot.fetch_add(1);
  if (index >= k_records)
    return nullptr;
  const auto& communicator = *static_cast<const Context*>(context);
  Record& record = records[index];
  record.communicator = communicator.communicator;
  record.communicator_size = communicator.size;
  record.rank = communicator.rank;
  record.peer = -1;
  record.cell = current_cell;
  return &record;
}

void end_record(Record* record) {
  auto index = static_cast<std::size_t>(record - records.data());
  written[index].store(true, std::memory_order_release);
}

} // namespace ncclprobe::plugin
