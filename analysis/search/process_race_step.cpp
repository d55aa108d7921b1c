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
    race_.emplace(progress_.contenders);
    for (const Observation& one : progress_.observations())
      race_->add(one.candidate, one.value);
  }
  if (rounds_ == k_rounds || race_->running().size() < 2) {
    finish();
    return {};
  }
  std::vector<TrialRequest> block = round();
  progress_.reserve_s = leave_out_reserve(progress_).seconds + screen_reserve(progress_).seconds +
                        confirm_reserve(progress_).seconds;
  if (!progress_.affordable(block) && race_->running().size() > 2) {
    leave(race_->keep(2), Fate::halved);
    block = round();
  }
  if (!progress_.affordable(block)) {
    progress_.complete = false;
    finish();
    return {};
  }
  ++rounds_;
  return {block};
}

std::vector<TrialRequest> ProcessRaceStep::round() {
  std::vector<TrialRequest> block;
  for (const Race::Entrant& one : race_->running())
    block.push_back(trial_of(progress_, Stage::race, {one.candidate}));
  put_in_random_order(block, progress_.random);
  // Last, so that each candidate runs between two trials of the default.
  block.push_back(trial_of(progress_, Stage::race, {progress_.unset}));
  return block;
}

void ProcessRaceStep::learn(const std::vector<Block>& blocks) {
  for (const Block& block : blocks)
    for (const MeasuredTrial& trial : block) {
      if (trial.process() == progress_.unset)
        continue;
      if (auto log_time = trial.log_time(progress_.space, trial.process())) {
        race_->add(trial.process(), *log_time - progress_.level.near(trial.request().id));
        progress_.tried.push_back({trial.process(), trial.request().id, *log_time});
      } else
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
  if (race_->running().empty())
    return;
  const std::vector<Observation> seen = progress_.observations();
  const std::vector<double> believed = progress_.chooser->values(seen);
  auto belief_of = [&](const Race::Entrant& one) {
    const auto at = std::ranges::find(seen, one.candidate, &Observation::candidate) - seen.begin();
    return believed[static_cast<std::size_t>(at)];
  };
  const std::vector<Race::Entrant> running = race_->running();
  const auto fastest = std::ranges::min_element(running, {}, belief_of);
  // A change that gains next to nothing stays out: it is as often a loss.
  const double limit = belief_of(*fastest) + progress_.options.min_gain / 4;
  auto best = fastest;
  for (auto one = running.begin(); one != running.end(); ++one)
    if (contains(fastest->candidate, one->candidate) && belief_of(*one) < limit &&
        changes(one->candidate) < changes(best->candidate))
      best = one;
  for (const Race::Entrant& one : running)
    if (&one != &*best)
      leave({{one, best->mean()}},
            &one == &*fastest ? Fate::needless : fate_against(best->mean(), one.mean()));
  if (std::exp(-fastest->mean()) > worth_confirming(progress_.options))
    progress_.process = best->candidate;
  else
    leave({{*best, -std::log(worth_confirming(progress_.options))}}, Fate::not_chosen);
}

} // namespace ncclprobe::analysis::search
