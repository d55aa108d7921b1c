// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/explore_step.h"

#include "analysis/search/process_race_step.h"
#include "analysis/search/reserve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace ncclprobe::analysis::search {
namespace {

using Values = std::map<Candidate, double>;

// What the changes of a combination do alone. Nothing if one of them was not measured.
struct Alone {
  double sum = 0, best = 0;
};
std::optional<Alone> changes_alone(const Values& values, const Candidate& candidate) {
  Alone out;
  for (std::size_t p = 0; p < candidate.size(); ++p) {
    if (candidate[p] == 0)
      continue;
    Candidate single(candidate.size(), 0);
    single[p] = candidate[p];
    const auto found = values.find(single);
    if (found == values.end())
      return {};
    out.sum += found->second;
    out.best = std::min(out.best, found->second);
  }
  return out;
}

} // namespace

// Combinations that were slower than one of their changes alone, although the sum of all their
// changes is the best so far: a disturbance may have ended before the default ran again.
std::vector<Candidate> ExploreStep::doubtful(const std::vector<Observation>& seen) const {
  constexpr double k_better = 0.01; // than the best so far
  constexpr double k_least_surprise = 0.1, k_deviations = 4;
  Values values;
  double best = 0;
  for (const Observation& one : seen) {
    values.emplace(one.candidate, one.value);
    best = std::min(best, one.value);
  }
  std::vector<Candidate> out;
  for (const auto& [candidate, value, variance] : seen) {
    if (changes(candidate) < 2 || repeated_.contains(candidate) || !progress_.allowed(candidate))
      continue;
    const auto alone = changes_alone(values, candidate);
    const double deviation = std::sqrt(variance * (changes(candidate) + 1));
    if (alone && alone->sum < best - k_better && value > alone->best &&
        value - alone->sum > std::max(k_least_surprise, k_deviations * deviation))
      out.push_back(candidate);
  }
  return out;
}

std::vector<std::vector<TrialRequest>> ExploreStep::next() {
  if (done_ || !progress_.has_process())
    return {};
  std::vector<TrialRequest> block = affordable_block();
  if (block.empty() && !progress_.complete && progress_.tried.empty() && progress_.screens) {
    progress_.screens = false; // a table not tried costs less than comparing nothing
    block = affordable_block();
  }
  if (block.empty())
    return finish();
  return {std::move(block)};
}

// Empty: there is nothing left to try, or no room for it, and then the search is not complete.
std::vector<TrialRequest> ExploreStep::affordable_block() {
  // Until something was tried, it is not known whether there is anything to compare.
  progress_.reserve_s = leave_out_reserve(progress_).seconds + screen_reserve(progress_).seconds +
                        confirm_reserve(progress_).seconds +
                        (progress_.tried.empty() ? 0 : race_reserve(progress_).seconds);
  auto allowed = [&](const Candidate& one) { return progress_.allowed(one); };
  const std::vector<Observation> seen = progress_.observations();
  std::vector<Candidate> again = doubtful(seen);
  for (std::size_t most = k_block; most > 0; --most) {
    again.resize(std::min(again.size(), most));
    std::vector<Candidate> chosen;
    if (again.size() < most)
      chosen = progress_.chooser->next(seen, allowed, most - again.size());
    if (again.empty() && chosen.empty())
      return {};
    if (std::ranges::all_of(chosen, [](const Candidate& one) { return changes(one) == 1; }))
      chosen.resize(std::min(chosen.size(), k_block_of_single_values));
    std::vector<TrialRequest> block;
    for (const Candidate& one : again) {
      block.push_back(trial_of(progress_, Stage::explore, {one}));
      block.back().cause = Cause::slower_than_expected;
    }
    for (const Candidate& one : chosen)
      block.push_back(trial_of(progress_, Stage::explore, {one}));
    put_in_random_order(block, progress_.random);
    // Last, so that each candidate runs between two trials of the default.
    block.push_back(trial_of(progress_, Stage::explore, {progress_.unset}));
    if (progress_.affordable(block)) {
      repeated_.insert(again.begin(), again.end());
      return block;
    }
  }
  progress_.complete = false;
  return {};
}

void ExploreStep::learn(const std::vector<Block>& blocks) {
  for (const Block& block : blocks)
    for (const MeasuredTrial& trial : block) {
      const Candidate& process = trial.process();
      const auto log_time = trial.log_time(progress_.space, process);
      if (!log_time || process == progress_.unset)
        continue;
      // A new trial replaces the first one, which was repeated because it was slow.
      std::erase_if(progress_.tried,
                    [&](const TriedProcess& one) { return one.candidate == process; });
      progress_.tried.push_back({process, trial.request().id, *log_time});
    }
}

std::vector<std::vector<TrialRequest>> ExploreStep::finish() {
  done_ = true;
  // A doubtful combination may have failed when it was measured again.
  std::erase_if(progress_.tried,
                [&](const TriedProcess& one) { return progress_.failed.contains(one.candidate); });
  if (progress_.tried.empty())
    return {};
  const std::vector<Observation> seen = progress_.observations();
  const std::vector<double> believed = progress_.chooser->values(seen);
  const double best = std::min(*std::ranges::min_element(believed), 0.0); // 0: the default
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < seen.size(); ++i) { // without the default
    order.push_back(i);
    progress_.give_reason({.candidate = seen[i].candidate,
                           .target = {},
                           .fate = fate_against(best, seen[i].value),
                           .stage = Stage::explore,
                           .speed = std::exp(-seen[i].value),
                           .needed = std::exp(-best),
                           .processes = 1});
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return believed[i]; });
  for (std::size_t i : order)
    if (progress_.contenders.size() < ProcessRaceStep::k_contenders && believed[i] < 0)
      progress_.contenders.push_back(seen[i].candidate);
  return {};
}

} // namespace ncclprobe::analysis::search
