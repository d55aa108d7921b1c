// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/leave_out_step.h"

#include "analysis/search/reserve.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::search {

Candidate LeaveOutStep::without(std::size_t parameter) const {
  Candidate candidate = *progress_.process;
  candidate[parameter] = 0;
  return candidate;
}

std::vector<TrialRequest> LeaveOutStep::round() {
  std::vector<TrialRequest> block{trial_of(progress_, Stage::leave_out, {*progress_.process})};
  for (const std::size_t parameter : *open_)
    block.push_back(trial_of(progress_, Stage::leave_out, {without(parameter)}));
  put_in_random_order(block, progress_.random);
  // Last, so that each candidate runs between two trials of the default.
  block.push_back(trial_of(progress_, Stage::leave_out, {progress_.unset}));
  return block;
}

std::vector<std::vector<TrialRequest>> LeaveOutStep::next() {
  if (!progress_.process || changes(*progress_.process) < 2)
    return {};
  if (!open_) {
    open_.emplace();
    for (std::size_t i = 0; i < progress_.process->size(); ++i)
      if ((*progress_.process)[i] != 0)
        open_->push_back(i);
  }
  // Without a change that is needed nothing works.
  std::erase_if(*open_, [&](std::size_t i) { return !progress_.allowed(without(i)); });
  if (open_->empty())
    return {};
  progress_.reserve_s = screen_reserve(progress_).seconds + confirm_reserve(progress_).seconds;
  std::vector<std::vector<TrialRequest>> blocks;
  std::vector<TrialRequest> all;
  while (blocks.size() < k_rounds) {
    std::vector<TrialRequest> one = round();
    all.insert(all.end(), one.begin(), one.end());
    if (!progress_.affordable(all))
      break;
    blocks.push_back(std::move(one));
  }
  if (blocks.size() >= k_least_rounds)
    return blocks;
  progress_.each_change_counts = false;
  return {};
}

void LeaveOutStep::add(const std::vector<Block>& blocks) {
  for (const Block& block : blocks)
    for (const MeasuredTrial& trial : block)
      if (trial.process() != progress_.unset)
        if (auto log_time = trial.log_time(progress_.space, trial.process()))
          times_[trial.process()].push_back(
              std::exp(*log_time - progress_.level.near(trial.request().id)));
}

// All combinations are taken to scatter alike: together they show it better than few processes of
// each.
std::vector<LeaveOutStep::Comparison> LeaveOutStep::compare() const {
  std::vector<Comparison> all;
  const auto with = times_.find(*progress_.process);
  LogScatter scatter;
  for (const auto& [candidate, times] : times_)
    if (const auto own = log_scatter(times))
      scatter = pooled(scatter, *own);
  if (with == times_.end() || scatter.degrees_of_freedom < 1)
    return all;
  std::vector<double> p_values;
  for (const std::size_t parameter : *open_) {
    const auto less = times_.find(without(parameter));
    if (less == times_.end())
      continue;
    const std::size_t count = with->second.size();
    const RatioTest test = ratio_test(geometric_mean(less->second) / geometric_mean(with->second),
                                      less->second.size(), count, scatter, k_confidence);
    all.push_back({parameter, {test.ratio, test.interval, static_cast<int>(count)}});
    p_values.push_back(p_above(test, 1));
  }
  const std::vector<double> adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].p = adjusted[i];
  return all;
}

void LeaveOutStep::learn(const std::vector<Block>& blocks) {
  ++looks_;
  add(blocks);
  const std::vector<Comparison> compared = compare();
  if (compared.empty()) { // disturbances took the time
    progress_.each_change_counts = false;
    open_->clear();
    return;
  }
  const Comparison* needless = nullptr;
  for (const Comparison& one : compared) {
    progress_.of_changes.insert_or_assign(one.parameter, one.gain);
    if (one.p < k_alpha / k_looks)
      std::erase(*open_, one.parameter);
    else if ((looks_ == k_looks || one.gain.interval.high < 1 + progress_.options.min_gain) &&
             (!needless || one.gain.speed < needless->gain.speed))
      needless = &one;
  }
  if (needless)
    drop(*needless);
}

void LeaveOutStep::drop(const Comparison& needless) {
  const Candidate with = *progress_.process;
  const Candidate less = without(needless.parameter);
  progress_.give_reason({.candidate = with,
                         .target = {},
                         .fate = Fate::needless,
                         .stage = Stage::leave_out,
                         .speed = 1 / geometric_mean(times_.at(with)),
                         .needed = 1 / geometric_mean(times_.at(less)),
                         .processes = needless.gain.processes});
  progress_.left_out.push_back({needless.parameter, with[needless.parameter], needless.gain});
  progress_.of_changes.erase(needless.parameter);
  std::erase(*open_, needless.parameter);
  progress_.process = less;
  times_.clear();
  looks_ = 0;
}

} // namespace ncclprobe::analysis::search
