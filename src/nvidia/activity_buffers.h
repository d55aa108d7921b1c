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

namespace ncclprobe::nvidia {

// Memory that CUPTI writes its records into: taken all at once and for good, so that a launch never
// waits for memory, and neither side ever for a lock of the other. Buffers go round: free, with
// CUPTI, full, free.
class ActivityBuffers {
public:
  ActivityBuffers(std::size_t count, std::size_t bytes_each);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  std::size_t bytes_each() const { return bytes_each_; }

  // --- for CUPTI's threads: any number, at any time ---

  // All zeroes; null, and counted, if none is free.
  std::uint8_t* take();
  // False if it is none of ours; then nothing is done.
  bool give(std::uint8_t* data, std::size_t valid_bytes);

  // --- for the one thread that reads them ---

  struct Full {
    std::uint8_t* data = nullptr; // null: none has come
    std::size_t valid_bytes = 0;
  };
  // The one that has been full for longest; waits for it.
  Full next(std::chrono::milliseconds wait);
  void put_back(const Full& full);

  std::uint64_t refused() const { return refused_; }
  // How many CUPTI or nobody has looked at yet; any thread may ask.
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
  // Number + 1 below; above it a count of changes, without which a thread that was held up could
  // put back a head that was taken and returned in between.
  std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint32_t> full_{0}; // the latest first: only ever taken as a whole
  std::vector<std::uint32_t> ordered_; // of full ones, the latest first
  std::counting_semaphore<> came_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::size_t> in_use_{0};
};

} // namespace ncclprobe::nvidia
