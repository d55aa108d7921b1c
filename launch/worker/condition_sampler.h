// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/local_rank_state.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace ncclprobe::worker {

// Reads the state of this process's GPUs before and after the timed part of a cell. After the timed
// part has lasted for `quiet`, a thread also reads every `period`; short cells see no other thread.
// Reads other processes and error counts only before and after, if requested, because NVML may take
// long to list processes.
class ConditionSampler {
public:
  struct Pace {
    std::chrono::milliseconds quiet{1000};
    std::chrono::milliseconds period{500};
  };

  enum class Company { asked, left };

  // Reads for the first time. `cell_start_ns` is on the backend's clock. References must outlive
  // the object.
  ConditionSampler(backend::Backend& backend, const std::vector<LocalRankState>& local_ranks,
                   std::int64_t cell_start_ns, Pace pace, Company company);
  ~ConditionSampler(); // stops the thread
  ConditionSampler(const ConditionSampler&) = delete;
  ConditionSampler& operator=(const ConditionSampler&) = delete;

  // Stops the thread and reads for the last time. By local rank, ordered by time.
  std::vector<std::vector<model::Condition>> finish();

private:
  void read(model::Condition::When when);
  bool stopped_within(std::chrono::milliseconds time);
  void sample_now_and_then(Pace pace);
  void stop();

  backend::Backend& backend_;
  const std::vector<LocalRankState>& ranks_;
  std::int64_t start_ns_;
  Company company_;
  std::vector<std::vector<model::Condition>> readings_; // belongs to the thread while it runs
  std::mutex mutex_;                                    // guards stop_; never held during a reading
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

} // namespace ncclprobe::worker
