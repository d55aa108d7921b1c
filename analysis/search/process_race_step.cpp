// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/process_race_step.h"

#include "analysis/search/confirm_step.h"
#include "analysis/search/reserve.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::search {

std::vector<std::vector<TrialRequest>> ProcessRaceStep::next() {
  if (done_ || progress_.contenders.empty())
    return {};
  if (!race_) {
    std::vector<Candidate> candidates;
    for (const Observation& one : progress_.contenders)
      candidates.push_back(one.candidate);
    race_.emplace(candidates);
    for (const Observation& one : progress_.contenders)
      race_->add(one.candidate, one.value);
  }
  if (rounds_ == k_rounds || race_->running().size() < 2) {
    finish();
    return {};
  }
  std::vector<TrialRequest> block;
  for (const Race::Entrant& one : race_->running())
    block.push_back(trial_of(progress_, Stage::race, {one.candidate}));
  put_in_random_order(block, progress_.random);
  // Last, so that each candidate runs between two trials of the default.
  block.push_back(trial_of(progress_, Stage::race, {progress_.unset}));
  progress_.reserve_s = leave_out_reserve(progress_).seconds + screen_reserve(progress_).seconds +
                        confirm_reserve(progress_).seconds;
  if (!progress_.affordable(block)) {
    progress_.complete = false;
    finish();
    return {};
  }
  ++rounds_;
  return {block};
}

void ProcessRaceStep::learn(const std::vector<Block>& blocks) {
  for (const Block& block : blocks)
    for (const MeasuredTrial& trial : block) {
      if (trial.process() == progress_.unset)
        continue;
      if (auto log_time = trial.log_time(progress_.space, trial.process()))
        race_->add(trial.process(), *log_time - progress_.level.near(trial.request().id));
      else
        race_->remove(trial.process());
    }
  leave(race_->stop_losers(), Fate::stopped);
  if (rounds_ == 1)
    leave(race_->keep(2), Fate::halved);
}

void ProcessRaceStep::leave(const std::vector<Race::Left>& left, Fate fate) {
  for (const Race::Left& one : left)
    progress_.give_reason({.candidate = one.entrant.candidate,
                           .target = {},
                           .fate = fate,
                           .stage = Stage::race,
                           .speed = std::exp(-one.entrant.mean()),
                           .needed = std::exp(-one.by),
                           .processes = static_cast<int>(one.entrant.values.size())});
}

void ProcessRaceStep::finish() {
  done_ = true;
  const auto ranked = race_->ranked();
  if (ranked.empty())
    return;
  leave(race_->keep(1), Fate::not_chosen);
  if (std::exp(-ranked.front().mean()) > worth_confirming(progress_.options))
    progress_.process = ranked.front().candidate;
  else
    leave({{ranked.front(), -std::log(worth_confirming(progress_.options))}}, Fate::not_chosen);
}

} // namespace ncclprobe::analysis::search
