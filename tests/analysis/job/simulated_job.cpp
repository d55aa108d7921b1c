// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/simulated_job.h"

#include <algorithm>

namespace ncclprobe::analysis::job {

namespace {

constexpr std::int64_t k_call_ns = 8'000;   // of the host, for a launch
constexpr std::int64_t k_launch_ns = 6'000; // until an idle GPU begins
constexpr std::uint64_t k_simulated_bytes_per_ns = 100;

} // namespace

int SimulatedJob::communicator(std::vector<int> ranks) {
  for (Rank& rank : ranks_)
    rank.streams_ns.push_back(0);
  members_.push_back(ranks);
  return job_.communicator(std::move(ranks));
}

double SimulatedJob::noise() {
  // Not <random>'s distributions: they differ between standard libraries.
  double sum = 0;
  for (int i = 0; i < 4; ++i)
    sum += static_cast<double>(random_() >> 11) * 0x1p-53 - 0.5;
  return 1 + 0.02 * sum;
}

std::int64_t SimulatedJob::transfer_ns(int communicator, std::uint64_t bytes) {
  const double slower = disturbances_.slower ? disturbances_.slower(communicator, step_) : 1;
  return static_cast<std::int64_t>(
      (10'000 + static_cast<double>(bytes) / k_simulated_bytes_per_ns) * noise() * slower);
}

std::int64_t SimulatedJob::handed_over(Rank& rank) {
  return rank.host_ns += k_call_ns;
}

void SimulatedJob::begin_step(int step) {
  step_ = step;
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (disturbances_.host_ns)
      ranks_[r].host_ns += disturbances_.host_ns(static_cast<int>(r), step);
}

void SimulatedJob::compute(std::int64_t ns) {
  for (Rank& rank : ranks_) {
    const std::int64_t handed_ns = handed_over(rank);
    rank.gpu_ns = std::max(rank.gpu_ns, handed_ns + k_launch_ns) +
                  static_cast<std::int64_t>(static_cast<double>(ns) * noise());
  }
}

void SimulatedJob::compute_disturbed(std::int64_t ns) {
  compute(ns);
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (disturbances_.computing_ns)
      ranks_[r].gpu_ns += disturbances_.computing_ns(static_cast<int>(r), step_);
}

void SimulatedJob::collective(int communicator, const char* function, std::uint64_t bytes,
                              Computing computing) {
  const auto c = static_cast<std::size_t>(communicator);
  std::vector<MadeJob::Part> parts;
  std::int64_t last_ns = 0;
  for (int r : members_[c]) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    MadeJob::Part part;
    part.enqueued_ns = handed_over(rank);
    part.begin_ns =
        std::max({rank.gpu_ns, rank.streams_ns[c], part.enqueued_ns + k_launch_ns}) + 1000;
    last_ns = std::max(last_ns, part.begin_ns);
    parts.push_back(part);
  }
  const std::int64_t end_ns = last_ns + transfer_ns(communicator, bytes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Rank& rank = ranks_[static_cast<std::size_t>(members_[c][i])];
    parts[i].end_ns = rank.streams_ns[c] = end_ns;
    if (computing == Computing::waits)
      rank.gpu_ns = end_ns;
  }
  job_.collective(communicator, function, bytes, parts);
}

void SimulatedJob::wait_for_all() {
  for (Rank& rank : ranks_)
    for (std::int64_t stream_ns : rank.streams_ns)
      rank.gpu_ns = std::max(rank.gpu_ns, stream_ns);
}

void SimulatedJob::end_step() {
  wait_for_all();
  double sum = 0;
  for (Rank& rank : ranks_) {
    rank.host_ns = std::max(rank.host_ns, rank.gpu_ns - 1'000'000); // it may be that far ahead
    sum += static_cast<double>(rank.gpu_ns);
  }
  begins_.push_back(sum / static_cast<double>(ranks_.size()));
}

double SimulatedJob::step_ns() const {
  return (begins_.back() - begins_.front()) / static_cast<double>(begins_.size() - 1);
}

} // namespace ncclprobe::analysis::job
