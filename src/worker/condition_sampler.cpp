// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/condition_sampler.h"

#include <algorithm>

namespace ncclprobe::worker {

using When = model::Condition::When;

ConditionSampler::ConditionSampler(backend::Backend& backend, const std::vector<SeatState>& seats,
                                   std::int64_t cell_start_ns, Pace pace, Company company)
    : backend_(backend), seats_(seats), start_ns_(cell_start_ns), company_(company),
      readings_(seats.size()) {
  read(When::before);
  bool readable = std::any_of(readings_.begin(), readings_.end(),
                              [](const auto& of_seat) { return !of_seat.empty(); });
  if (readable)
    thread_ = std::thread([this, pace] { sample_now_and_then(pace); });
}

ConditionSampler::~ConditionSampler() {
  stop();
}

void ConditionSampler::read(When when) {
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
    if (when == When::during && stopped_within({}))
      return; // the cell is over and waits for us
    std::optional<model::Condition> reading = seats_[seat].device->read_condition();
    if (!reading)
      continue;
    reading->at_ns = backend_.now_ns() - start_ns_; // traffic takes tens of milliseconds more
    reading->rank = seats_[seat].rank;
    reading->when = when;
    if (when == When::during)
      seats_[seat].device->read_traffic(*reading);
    else if (company_ == Company::asked)
      seats_[seat].device->read_company(*reading);
    readings_[seat].push_back(std::move(*reading));
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
