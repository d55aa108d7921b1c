// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/made_job.h"

#include <functional>
#include <random>

// Jobs whose hosts, GPUs and streams are simulated, with disturbances at known places.
namespace ncclprobe::analysis::job {

struct Disturbances {
  // Computing of a rank takes this much longer in a step.
  std::function<std::int64_t(int rank, int step)> computing_ns;
  // The host of a rank is idle for this long before a step.
  std::function<std::int64_t(int rank, int step)> host_ns;
  // Transfers of a communicator take this many times as long in a step.
  std::function<double(int communicator, int step)> slower;
};

class SimulatedJob {
public:
  SimulatedJob(int ranks, unsigned seed, Disturbances disturbances)
      : job_(ranks), disturbances_(std::move(disturbances)), random_(seed),
        ranks_(static_cast<std::size_t>(ranks)) {}

  int communicator(std::vector<int> ranks);
  void begin_step(int step);
  // On all ranks, each with its own noise.
  void compute(std::int64_t ns);
  // The same with what disturbs a rank's computing.
  void compute_disturbed(std::int64_t ns);
  // Begins when its input is computed and the communicator's stream is free. waits: computing
  // waits for its end.
  enum class Computing { goes_on, waits };
  void collective(int communicator, const char* function, std::uint64_t bytes, Computing computing);
  void wait_for_all(); // computing waits for all communication
  void end_step();     // and so does the host

  // Mean length of steps, from the second one on.
  double step_ns() const;
  const MadeJob& made() const { return job_; }

private:
  struct Rank {
    std::int64_t host_ns = 1'000'000, gpu_ns = 1'000'000;
    std::vector<std::int64_t> streams_ns; // by communicator
  };
  double noise(); // around 1
  std::int64_t transfer_ns(int communicator, std::uint64_t bytes);
  std::int64_t handed_over(Rank& rank);

  MadeJob job_;
  Disturbances disturbances_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<int>> members_;
  std::vector<double> begins_; // mean of each step's begin
  int step_ = 0;
};

} // namespace ncclprobe::analysis::job
