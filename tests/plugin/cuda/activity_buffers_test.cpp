// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/activity_buffers.h"

#include "support/catch.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

using ncclprobe::plugin::ActivityBuffers;
using namespace std::chrono_literals;

TEST_CASE("buffers are zeroed, distinct, and refused when all are out") {
  ActivityBuffers buffers(3, 8192);

  std::set<std::uint8_t*> taken;
  for (int i = 0; i < 3; ++i) {
    std::uint8_t* data = buffers.take();
    REQUIRE(data != nullptr);
    CHECK(std::all_of(data, data + 8192, [](std::uint8_t byte) { return byte == 0; }));
    taken.insert(data);
  }

  CHECK(taken.size() == 3);
  CHECK(buffers.take() == nullptr);
  CHECK(buffers.take() == nullptr);
  CHECK(buffers.refused() == 2);
  CHECK(buffers.in_use() == 3);
}

TEST_CASE("full buffers come in the order in which they were given") {
  ActivityBuffers buffers(3, 4096);
  std::uint8_t* first = buffers.take();
  std::uint8_t* second = buffers.take();
  std::uint8_t* third = buffers.take();
  buffers.give(second, 100);
  buffers.give(first, 200);

  ActivityBuffers::Full one = buffers.next(0ms);
  CHECK(one.data == second);
  CHECK(one.valid_bytes == 100);
  buffers.give(third, 300);
  CHECK(buffers.next(0ms).data == first);
  CHECK(buffers.next(0ms).data == third);
  CHECK(buffers.next(0ms).data == nullptr);
}

TEST_CASE("a buffer that was read is zeroed and free again") {
  ActivityBuffers buffers(1, 4096);
  std::uint8_t* data = buffers.take();
  std::memset(data, 0xAB, 4096);
  buffers.give(data, 48);

  ActivityBuffers::Full full = buffers.next(0ms);
  CHECK(full.data[4095] == 0xAB); // it is the reader's until it gives it back
  buffers.put_back(full);

  CHECK(buffers.in_use() == 0);
  REQUIRE(buffers.take() == data);
  CHECK(std::all_of(data, data + 4096, [](std::uint8_t byte) { return byte == 0; }));
}

TEST_CASE("memory of somebody else is not taken for a buffer") {
  ActivityBuffers buffers(1, 4096);
  std::uint8_t other[8] = {};
  CHECK_FALSE(buffers.give(other, 8));
  CHECK(buffers.next(0ms).data == nullptr);
}

TEST_CASE("many threads take and give while one reads, and nothing is lost or doubled") {
  constexpr int k_threads = 4;
  constexpr std::uint64_t k_each = 20'000;
  ActivityBuffers buffers(8, 64);
  std::atomic<int> running{k_threads};
  std::vector<std::thread> writers;
  for (int t = 0; t < k_threads; ++t)
    writers.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < k_each;) {
        std::uint8_t* data = buffers.take();
        if (data == nullptr) {
          std::this_thread::yield();
          continue;
        }
        std::uint64_t value = static_cast<std::uint64_t>(t) * k_each + i++;
        std::memcpy(data, &value, sizeof value);
        buffers.give(data, sizeof value);
      }
      --running;
    });

  std::vector<int> seen(k_threads * k_each);
  bool dirty = false;
  while (true) {
    bool last = running == 0; // before the reading: then nothing comes after it
    ActivityBuffers::Full full = buffers.next(1ms);
    if (full.data == nullptr) {
      if (last)
        break;
      continue;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, full.data, sizeof value);
    dirty |= full.data[16] != 0;
    ++seen.at(value);
    buffers.put_back(full);
  }
  for (std::thread& writer : writers)
    writer.join();

  CHECK_FALSE(dirty);
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  CHECK(buffers.in_use() == 0);
}
