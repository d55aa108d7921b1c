// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/step_counter.h"

#include <algorithm>

namespace ncclprobe::plugin {
namespace {

constexpr std::size_t k_repeats = 3;
constexpr std::size_t k_most_broken = 64;
constexpr std::uint64_t k_between_searches = 8; // at least, in operations

} // namespace

std::size_t StepCounter::remembered() const {
  return static_cast<std::size_t>(std::min<std::uint64_t>(added_, k_remembered));
}

void StepCounter::add(std::uint64_t signature) {
  latest_[added_ % k_remembered] = signature;
  ++added_;
  if (period_ > 0) {
    if (back(period_) == signature) {
      if (added_ - counted_until_ == period_) {
        ++steps_;
        counted_until_ = added_;
      }
      return;
    }
    period_ = 0;
    current_.broken_at = added_ - 1;
    if (broken_.size() == k_most_broken)
      broken_.erase(broken_.begin());
    broken_.push_back(current_);
    next_search_ = added_;
  }
  if (added_ >= next_search_) {
    search();
    next_search_ = added_ + std::max<std::uint64_t>(k_between_searches, remembered() / 8);
  }
}

// The Z algorithm, backwards in time: how long the sequence repeats at each distance, in linear
// time.
void StepCounter::search() {
  const std::size_t count = remembered();
  std::vector<std::size_t> repeats(count);
  std::size_t first = 0, last = 0; // the known stretch that ends latest
  for (std::size_t i = 1; i < count; ++i) {
    std::size_t length = i < last ? std::min(repeats[i - first], last - i) : 0;
    while (i + length < count && back(length) == back(i + length))
      ++length;
    repeats[i] = length;
    if (i + length > last) {
      first = i;
      last = i + length;
    }
    const std::size_t explained = i + length;
    if (explained < k_repeats * i || (2 * explained < count && explained < k_enough))
      continue;
    return accept(i, explained);
  }
}

void StepCounter::accept(std::size_t period, std::uint64_t explained) {
  const std::uint64_t begin = added_ - explained;
  contains_breaks_ = !broken_.empty() && broken_.back().broken_at > begin;
  for (; !broken_.empty() && broken_.back().broken_at > begin; broken_.pop_back()) {
    steps_ = broken_.back().steps_before;
    counted_until_ = broken_.back().counted_from;
  }
  period_ = period;
  repeats_since_ = begin;
  counted_until_ = std::max(counted_until_, begin);
  current_ = {counted_until_, steps_, 0};
  const std::uint64_t uncounted = (added_ - counted_until_) / period;
  steps_ += uncounted;
  counted_until_ += uncounted * period;
}

} // namespace ncclprobe::plugin
