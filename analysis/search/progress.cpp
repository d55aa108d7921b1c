// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/progress.h"

#include <algorithm>

namespace ncclprobe::analysis::search {

Progress::Progress(Space of, Options with)
    : space(std::move(of)), options(std::move(with)), random(options.seed),
      unset(default_candidate(space)), chooser(make_chooser(options.strategy, space)),
      in_process(space.targets.size()),
      screens(std::ranges::any_of(space.parameters, &Parameter::in_process)) {}

bool Progress::allowed(const Candidate& candidate, std::optional<std::size_t> target) const {
  if (target ? space.possible && !space.possible(candidate, *target)
             : !possible_for_all(space, candidate))
    return false;
  return std::ranges::none_of(failed,
                              [&](const auto& one) { return contains(candidate, one.first); });
}

double Progress::expected_s(const std::vector<TrialRequest>& trials) const {
  double sum = 0;
  if (options.expected_s)
    for (const TrialRequest& trial : trials)
      sum += options.expected_s(trial);
  return sum;
}

bool Progress::affordable(const std::vector<TrialRequest>& trials) const {
  if (options.budget_s <= 0)
    return true;
  const double end_s = options.end_s ? options.end_s(screens) : 0;
  return spent_s + expected_s(trials) + reserve_s + end_s <= options.budget_s;
}

void Progress::give_reason(Reason reason) {
  auto key = std::pair(reason.target, reason.candidate);
  reasons.insert_or_assign(std::move(key), std::move(reason));
}

Fate fate_against(double best, double own) {
  return own > best ? Fate::not_chosen : Fate::estimated_slower;
}

bool Progress::has_process() const {
  return !std::ranges::all_of(space.parameters, &Parameter::in_process);
}

// The default's time is looked up anew each time: later trials say more about it.
std::vector<Observation> Progress::observations() const {
  struct Sum {
    double of_values = 0;
    int count = 0;
  };
  std::map<Candidate, Sum> sums;
  for (const TriedProcess& one : tried) {
    Sum& sum = sums[one.candidate];
    sum.of_values += one.log_time - level.near(one.trial);
    ++sum.count;
  }
  constexpr double k_trials_of_default = 4; // near a trial, by weight
  const double variance = level.variance();
  std::vector<Observation> out{{unset, 0, variance / k_trials_of_default}};
  for (const auto& [candidate, sum] : sums)
    out.push_back({candidate, sum.of_values / sum.count, variance / sum.count});
  return out;
}

TrialRequest trial_of(Progress& progress, Stage stage, const std::vector<Candidate>& candidates) {
  TrialRequest trial{.stage = stage, .process = process_part(progress.space, candidates.front())};
  for (std::size_t target = 0; target < progress.space.targets.size(); ++target)
    for (const Candidate& candidate : candidates)
      trial.cells.push_back({target, candidate});
  put_in_random_order(trial.cells, progress.random);
  return trial;
}

} // namespace ncclprobe::analysis::search
