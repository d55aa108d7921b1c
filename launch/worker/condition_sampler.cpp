// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/condition_sampler.h"

#include <algorithm>

namespace ncclprobe::worker {

using When = model::Condition::When;

ConditionSampler::ConditionSampler(backend::Backend& backend,
                                   const std::vector<LocalRankState>& local_ranks,
                                   std::int64_t cell_start_ns, Pace pace, Company company)
    : backend_(backend), ranks_(local_ranks), start_ns_(cell_start_ns), company_(company),
      readings_(local_ranks.size()) {
  read(When::before);
  bool readable = std::ranges::any_of(
      readings_, [](const auto& of_local_rank) { return !of_local_rank.empty(); });
  if (readable)
    thread_ = std::thread([this, pace] { sample_now_and_then(pace); });
}

ConditionSampler::~ConditionSampler() {
  stop();
}

void ConditionSampler::read(When when) {
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank) {
    if (when == When::during && stopped_within({}))
      return; // the cell is over and waits for this thread
    std::optional<model::Condition> reading = ranks_[local_rank].device->read_condition();
    if (!reading)
      continue;
    reading->at_ns = backend_.now_ns() - start_ns_; // traffic takes tens of milliseconds more
    reading->rank = ranks_[local_rank].rank;
    reading->when = when;
    if (when == When::during)
      ranks_[local_rank].device->read_traffic(*reading);
    else if (company_ == Company::asked)
      ranks_[local_rank].device->read_company(*reading);
    readings_[local_rank].push_back(std::move(*reading));
  }
}

bool ConditionSampler::stopped_within(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return stopped_.wait_for(lock, time, [this] { return stop_; });
}

void ConditionSampler::sample_now_and_then(Pace pace) {
  auto pause = pace.quiet;
  while (!stopped_within(pause)) {
    read(When::during);
    pause = pace.period;
  }
}

void ConditionSampler::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  if (thread_.joinable())
    thread_.join();
}

std::vector<std::vector<model::Condition>> ConditionSampler::finish() {
  stop();
  read(When::after);
  return std::move(readings_);
}

} // namespace ncclprobe::worker
