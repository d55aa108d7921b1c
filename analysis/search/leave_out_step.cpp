// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/leave_out_step.h"

#include "analysis/search/reserve.h"
#include "analysis/statistics/statistics.h"
#include "analysis/verdict/verdict.h"

#include <cmath>

namespace ncclprobe::analysis::search {

Candidate LeaveOutStep::without(std::size_t parameter) const {
  Candidate candidate = *progress_.process;
  candidate[parameter] = 0;
  return candidate;
}

std::vector<std::vector<TrialRequest>> LeaveOutStep::next() {
  if (done_ || !progress_.options.each_change_counts || !progress_.process ||
      changes(*progress_.process) < 2)
    return {};
  std::vector<TrialRequest> block{trial_of(progress_, Stage::race, {*progress_.process})};
  for (std::size_t i = 0; i < progress_.process->size(); ++i)
    if ((*progress_.process)[i] != 0 && progress_.allowed(without(i)))
      block.push_back(trial_of(progress_, Stage::race, {without(i)}));
  // Last, so that each candidate runs between two trials of the default.
  block.push_back(trial_of(progress_, Stage::race, {progress_.unset}));
  const std::vector<std::vector<TrialRequest>> blocks(k_rounds, block);
  std::vector<TrialRequest> all;
  for (const auto& one : blocks)
    all.insert(all.end(), one.begin(), one.end());
  progress_.reserve_s = screen_reserve_s(progress_) + confirm_reserve_s(progress_);
  if (progress_.affordable(all))
    return blocks;
  progress_.complete = false;
  return {};
}

void LeaveOutStep::learn(const std::vector<Block>& blocks) {
  std::map<Candidate, std::vector<double>> times; // over the default's
  for (const Block& block : blocks)
    for (const MeasuredTrial& trial : block)
      if (auto log_time = trial.log_time(progress_.space, trial.process()))
        times[trial.process()].push_back(
            std::exp(*log_time - progress_.level.near(trial.request().id)));
  const Candidate with = *progress_.process;
  progress_.of_changes.clear();
  std::optional<std::size_t> needless;
  for (std::size_t i = 0; i < with.size(); ++i) {
    if (with[i] == 0)
      continue;
    const auto test = welch_ratio(times[without(i)], times[with], k_confidence);
    if (!test) // without it, nothing works
      continue;
    const Gain gain{test->ratio, test->interval, static_cast<int>(times[with].size())};
    progress_.of_changes.insert_or_assign(i, gain);
    if (gain.interval.low <= 1 &&
        (!needless || gain.speed < progress_.of_changes.at(*needless).speed))
      needless = i;
  }
  done_ = !needless;
  if (!needless)
    return;
  progress_.give_reason({.candidate = with,
                         .target = {},
                         .fate = Fate::not_chosen,
                         .stage = Stage::race,
                         .speed = 1 / geometric_mean(times[with]),
                         .needed = 1 / geometric_mean(times[without(*needless)]),
                         .processes = static_cast<int>(times[with].size())});
  progress_.process = without(*needless);
  progress_.of_changes.clear();
}

} // namespace ncclprobe::analysis::search
