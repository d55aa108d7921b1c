// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "counted_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace ncclprobe::test_launch {
namespace {

std::int64_t s_now = 0;
std::int64_t s_most = 0;
std::int64_t s_before = 0;

struct alignas(std::max_align_t) Head {
  std::size_t bytes = 0;
  bool counts = false;
};

} // namespace

bool Counted::s_counts = false;

std::int64_t counted_bytes() {
  return s_now - s_before;
}
std::int64_t most_counted_bytes() {
  return s_most - s_before;
}
void reset_counted_bytes() {
  s_before = s_most = s_now;
}

void* take_memory(std::size_t bytes) {
  void* memory = std::malloc(sizeof(Head) + bytes);
  if (memory == nullptr)
    throw std::bad_alloc();
  new (memory) Head{bytes, Counted::s_counts};
  if (Counted::s_counts)
    s_most = std::max(s_most, s_now += static_cast<std::int64_t>(bytes));
  return static_cast<std::byte*>(memory) + sizeof(Head);
}

void give_memory_back(void* memory) {
  if (memory == nullptr)
    return;
  auto* head = reinterpret_cast<Head*>(static_cast<std::byte*>(memory) - sizeof(Head));
  if (head->counts)
    s_now -= static_cast<std::int64_t>(head->bytes);
  std::free(head);
}

} // namespace ncclprobe::test_launch

void* operator new(std::size_t bytes) {
  return ncclprobe::test_launch::take_memory(bytes);
}
void* operator new[](std::size_t bytes) {
  return ncclprobe::test_launch::take_memory(bytes);
}
void operator delete(void* memory) noexcept {
  ncclprobe::test_launch::give_memory_back(memory);
}
void operator delete[](void* memory) noexcept {
  ncclprobe::test_launch::give_memory_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  ncclprobe::test_launch::give_memory_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  ncclprobe::test_launch::give_memory_back(memory);
}
