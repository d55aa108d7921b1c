// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/screen_step.h"

#include "analysis/search/confirm_step.h"
#include "analysis/search/reserve.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::search {

std::vector<Candidate> screened(const Progress& progress, const Candidate& process,
                                std::size_t target) {
  constexpr std::size_t k_most_candidates = 512;
  std::vector<Candidate> out;
  for (const Candidate& values : combinations(progress.space, true, k_most_candidates))
    if (Candidate one = joined(progress.space, process, values); progress.allowed(one, target))
      out.push_back(std::move(one));
  return out;
}

TrialRequest screen_trial(Progress& progress, const Candidate& process,
                          const std::vector<std::vector<Candidate>>& candidates) {
  // A round takes the time of so many whole cells for each target, or less.
  constexpr double k_cells_of_round = 8;
  constexpr double k_least_effort = 0.1;
  constexpr std::size_t k_candidates_per_default = 8;
  TrialRequest trial{.stage = Stage::screen, .process = process};
  std::size_t most = 1;
  for (std::size_t target = 0; target < candidates.size(); ++target) {
    const std::size_t count = candidates[target].size();
    if (count == 0)
      continue;
    most = std::max(most, count);
    for (std::size_t i = 0; i < 2 + count / k_candidates_per_default; ++i)
      trial.cells.push_back({target, process});
    for (const Candidate& one : candidates[target])
      trial.cells.push_back({target, one});
  }
  trial.effort = std::clamp(k_cells_of_round / static_cast<double>(most), k_least_effort, 1.0);
  put_in_random_order(trial.cells, progress.random);
  return trial;
}

std::vector<std::vector<TrialRequest>> ScreenStep::next() {
  if (done_ || !progress_.screens)
    return {};
  if (rounds_ == 0) {
    process_ = progress_.process.value_or(progress_.unset);
    for (std::size_t target = 0; target < progress_.space.targets.size(); ++target)
      races_.emplace_back(screened(progress_, process_, target));
  }
  std::vector<std::vector<Candidate>> running(races_.size());
  std::size_t all = 0;
  for (std::size_t target = 0; target < races_.size(); ++target)
    for (const Race::Entrant& one : races_[target].running()) {
      running[target].push_back(one.candidate);
      ++all;
    }
  if (all == 0 || rounds_ == k_rounds) {
    finish();
    return {};
  }
  TrialRequest trial = screen_trial(progress_, process_, running);
  progress_.reserve_s = confirm_reserve(progress_).seconds;
  if (!progress_.affordable({trial})) {
    progress_.complete = false;
    finish();
    return {};
  }
  ++rounds_;
  return {{std::move(trial)}};
}

void ScreenStep::learn(const std::vector<Block>& blocks) {
  constexpr std::size_t k_kept = 4; // one of so many
  constexpr std::size_t k_least_kept = 2;
  if (blocks.front().empty()) // its default was off, and the budget has no room for a repeat
    return;
  const MeasuredTrial& trial = blocks.front().front();
  for (std::size_t target = 0; target < races_.size(); ++target) {
    Race& race = races_[target];
    const auto default_time = trial.log_time(target, process_);
    for (const Race::Entrant& one : std::vector(race.running()))
      if (auto log_time = trial.log_time(target, one.candidate); log_time && default_time)
        race.add(one.candidate, *log_time - *default_time);
      else if (!progress_.allowed(one.candidate, target))
        race.remove(one.candidate);
    leave(target, race.stop_losers(), Fate::stopped);
    if (const std::size_t count = race.running().size(); count > k_least_kept)
      leave(target, race.keep(std::max((count + k_kept - 1) / k_kept, k_least_kept)), Fate::halved);
  }
}

void ScreenStep::leave(std::size_t target, const std::vector<Race::Left>& left, Fate fate) {
  for (const Race::Left& one : left)
    if (!one.entrant.values.empty())
      progress_.give_reason({.candidate = one.entrant.candidate,
                             .target = target,
                             .fate = fate,
                             .stage = Stage::screen,
                             .speed = std::exp(-one.entrant.mean()),
                             .needed = std::exp(-one.by),
                             .processes = static_cast<int>(one.entrant.values.size())});
}

void ScreenStep::finish() {
  done_ = true;
  for (std::size_t target = 0; target < races_.size(); ++target) {
    const auto ranked = races_[target].ranked();
    if (ranked.empty() || ranked.front().values.empty())
      continue;
    leave(target, races_[target].keep(1), Fate::not_chosen);
    if (std::exp(-ranked.front().mean()) > worth_confirming(progress_.options))
      progress_.in_process[target].push_back(ranked.front().candidate);
    else
      leave(target, {{ranked.front(), -std::log(worth_confirming(progress_.options))}},
            Fate::not_chosen);
  }
}

} // namespace ncclprobe::analysis::search
