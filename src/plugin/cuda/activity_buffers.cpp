// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/activity_buffers.h"

#include <cstring>
#include <new>
#include <sys/mman.h>

namespace ncclprobe::plugin {

ActivityBuffers::ActivityBuffers(std::size_t count, std::size_t bytes_each)
    : count_(count), bytes_each_(bytes_each), slots_(std::make_unique<Slot[]>(count)) {
  // Pre-faults the pages, so they exist before a launch needs them.
  void* memory = mmap(nullptr, count * bytes_each, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  memory_ = static_cast<std::uint8_t*>(memory);
  for (std::size_t i = count; i > 0; --i)
    push_free(static_cast<std::uint32_t>(i - 1));
}

ActivityBuffers::~ActivityBuffers() {
  munmap(memory_, count_ * bytes_each_);
}

void ActivityBuffers::push_free(std::uint32_t number) {
  std::uint64_t head = free_.load();
  std::uint64_t wanted = 0;
  do {
    slots_[number].next = static_cast<std::uint32_t>(head);
    wanted = ((head >> 32) + 1) << 32 | (number + 1);
  } while (!free_.compare_exchange_weak(head, wanted));
}

std::uint8_t* ActivityBuffers::take() {
  std::uint64_t head = free_.load();
  std::uint64_t wanted = 0;
  std::uint32_t number = 0;
  do {
    number = static_cast<std::uint32_t>(head);
    if (number == 0) {
      ++refused_;
      return nullptr;
    }
    wanted = ((head >> 32) + 1) << 32 | slots_[number - 1].next.load();
  } while (!free_.compare_exchange_weak(head, wanted));
  ++in_use_;
  return data(number - 1);
}

bool ActivityBuffers::give(std::uint8_t* given, std::size_t valid_bytes) {
  if (given < memory_ || given >= memory_ + count_ * bytes_each_)
    return false;
  auto number = static_cast<std::uint32_t>(static_cast<std::size_t>(given - memory_) / bytes_each_);
  slots_[number].valid_bytes = valid_bytes;
  std::uint32_t head = full_.load();
  do {
    slots_[number].next = head;
  } while (!full_.compare_exchange_weak(head, number + 1));
  came_.release();
  return true;
}

ActivityBuffers::Full ActivityBuffers::next(std::chrono::milliseconds wait) {
  if (ordered_.empty() && full_.load() == 0)
    (void)came_.try_acquire_for(wait);
  if (ordered_.empty()) {
    while (came_.try_acquire()) { // all full buffers are examined now
    }
    for (std::uint32_t number = full_.exchange(0); number != 0; number = slots_[number - 1].next)
      ordered_.push_back(number - 1);
  }
  if (ordered_.empty())
    return {};
  std::uint32_t number = ordered_.back();
  ordered_.pop_back();
  return {data(number), slots_[number].valid_bytes};
}

void ActivityBuffers::put_back(const Full& full) {
  std::memset(full.data, 0, bytes_each_); // CUPTI may have begun a record after the valid ones
  auto offset = static_cast<std::size_t>(full.data - memory_);
  push_free(static_cast<std::uint32_t>(offset / bytes_each_));
  --in_use_;
}

} // namespace ncclprobe::plugin
