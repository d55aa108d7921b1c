// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace ncclprobe::worker {

// The runner's progress within a cell, for another thread to read when it hangs. One thread writes
// it; a write is a plain store, cheap enough for the timed loop.
class ProgressBoard {
public:
  enum class Step {
    outside,
    preparing,
    filling,
    warming_up,
    barrier,
    launching,
    waiting,
    comparing
  };

  void set(Step step) { step_.store(step, std::memory_order_relaxed); }
  // Counted from 1; batch 0 is the time before the first.
  void set_batch(int batch, std::int64_t launches) {
    batch_.store(batch, std::memory_order_relaxed);
    launches_.store(launches, std::memory_order_relaxed);
    launch_.store(0, std::memory_order_relaxed);
  }
  // Instead of batches. Launch 0 is the one before the counted launches.
  void set_single_launches(std::int64_t launches) { set_batch(k_no_batch, launches); }
  void set_launch(int launch) { launch_.store(launch, std::memory_order_relaxed); }

  // "launch 12 of 20 of batch 3", "waiting for launch 37 of 100"; empty outside cells.
  std::string text() const;

private:
  static constexpr int k_no_batch = -1;
  std::string where() const;

  std::atomic<Step> step_ = Step::outside;
  std::atomic<int> batch_ = 0;
  std::atomic<std::int64_t> launches_ = 0;
  std::atomic<int> launch_ = 0;
};

} // namespace ncclprobe::worker
