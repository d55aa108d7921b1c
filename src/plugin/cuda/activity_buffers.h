// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <vector>

namespace ncclprobe::plugin {

// Memory for CUPTI's records. It is allocated once and kept, so a launch never waits for memory,
// and neither side waits for a lock of the other. A buffer's states: free, with CUPTI, full, free.
// Throws std::bad_alloc.
class ActivityBuffers {
public:
  ActivityBuffers(std::size_t count, std::size_t bytes_each);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  std::size_t bytes_each() const { return bytes_each_; }

  // --- for CUPTI's threads: any number, at any time ---

  // Filled with zeroes; null, and counted, if none is free.
  std::uint8_t* take();
  // False if the buffer is not ours; then nothing is done.
  bool give(std::uint8_t* data, std::size_t valid_bytes);

  // --- for the one thread that reads them ---

  struct Full {
    std::uint8_t* data = nullptr; // null: none is full
    std::size_t valid_bytes = 0;
  };
  // The buffer that has been full for longest; waits for one.
  Full next(std::chrono::milliseconds wait);
  void put_back(const Full& full);

  std::uint64_t refused() const { return refused_; }
  // How many are with CUPTI or unread; any thread may ask.
  std::size_t in_use() const { return in_use_; }

private:
  struct Slot {
    std::atomic<std::uint32_t> next{0}; // in whichever list it is in: number + 1, 0: the last
    std::size_t valid_bytes = 0;
  };
  void push_free(std::uint32_t number);
  std::uint8_t* data(std::uint32_t number) const { return memory_ + number * bytes_each_; }

  std::size_t count_;
  std::size_t bytes_each_;
  std::uint8_t* memory_ = nullptr;
  std::unique_ptr<Slot[]> slots_;
  // Number + 1 in the lower half, a count of changes above. Without the count, a delayed thread
  // could put back a head that was taken and returned in between (ABA).
  std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint32_t> full_{0}; // the latest first: always taken as a whole
  std::vector<std::uint32_t> ordered_; // of full ones, the latest first
  std::counting_semaphore<> came_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::size_t> in_use_{0};
};

} // namespace ncclprobe::plugin
