// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/running_blocks.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace ncclprobe::analysis::search {
namespace {

constexpr int k_most_repeats = 2;
constexpr std::size_t k_most_waits = 4; // trials of the default until it has a new level

bool is_failure(model::OutcomeKind outcome) {
  return outcome != model::OutcomeKind::ok && outcome != model::OutcomeKind::not_run;
}

} // namespace

void RunningBlocks::start(const std::vector<std::vector<TrialRequest>>& blocks) {
  blocks_.clear();
  repeats_ = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    blocks_.push_back({.planned = blocks[b]});
    for (std::size_t t = 0; t < blocks[b].size(); ++t)
      request(blocks[b][t], blocks[b][t].cause, b, t);
  }
}

void RunningBlocks::request(TrialRequest trial, Cause cause, std::size_t block, std::size_t place) {
  trial.id = next_id_++;
  trial.cause = cause;
  std::vector<Running>& trials = blocks_[block].trials;
  if (cause != Cause::cells_not_run) {
    if (trials.size() <= place)
      trials.push_back({MeasuredTrial(trial)});
    else
      trials[place] = {MeasuredTrial(trial)};
  }
  trials[place].ids.push_back(trial.id);
  pending_.push_back({std::move(trial), block, place});
}

std::vector<TrialRequest> RunningBlocks::next() {
  if (pending_.empty())
    disturbed_.empty() ? settle() : settle_wait();
  std::vector<TrialRequest> out;
  for (const Pending& one : pending_)
    out.push_back(one.request);
  return out;
}

void RunningBlocks::learn(const TrialRequest& request, const TrialResult& result) {
  auto found =
      std::ranges::find(pending_, request.id, [](const Pending& p) { return p.request.id; });
  if (found == pending_.end())
    return;
  const Pending pending = *found;
  pending_.erase(found);
  progress_.spent_s += result.seconds;
  if (fails_by_default(request, result)) {
    ++default_failures_;
    rejections_.try_emplace(request.id, false);
    const TrialRequest& planned = blocks_[pending.block].planned[pending.trial];
    if (!default_failed() && progress_.affordable({planned})) {
      mark_repeated(blocks_[pending.block].trials[pending.trial]);
      this->request(planned, Cause::default_failed, pending.block, pending.trial);
    }
    return;
  }
  MeasuredTrial& measured = blocks_[pending.block].trials[pending.trial].measured;
  for (std::size_t i = 0; i < request.cells.size() && i < result.cells.size(); ++i)
    if (result.cells[i].outcome == model::OutcomeKind::ok) {
      measured.add(request.cells[i], result.cells[i].time_ns);
      progress_.worked.insert(request.process);
    }
  if (request.form == Form::delivered)
    note_failure_of_delivery(result);
  else
    blame(request, result);
  ask_for_rest(pending, result);
}

bool RunningBlocks::fails_by_default(const TrialRequest& request, const TrialResult& result) const {
  if (request.form == Form::delivered)
    return false;
  for (std::size_t i = 0; i < request.cells.size() && i < result.cells.size(); ++i)
    if (request.cells[i].candidate == progress_.unset && is_failure(result.cells[i].outcome))
      return true;
  return false;
}

// The candidate of the cell that failed is to blame. If no cell of its process parameters ever
// finished, these are.
void RunningBlocks::blame(const TrialRequest& request, const TrialResult& result) {
  const bool works = progress_.worked.contains(request.process);
  for (std::size_t i = 0; i < request.cells.size() && i < result.cells.size(); ++i) {
    const model::OutcomeKind outcome = result.cells[i].outcome;
    if (!is_failure(outcome))
      continue;
    const Candidate& guilty =
        works || request.process == progress_.unset ? request.cells[i].candidate : request.process;
    if (progress_.failed.emplace(guilty, outcome).second)
      progress_.give_reason({.candidate = guilty,
                             .target = process_part(progress_.space, guilty) == guilty
                                           ? std::nullopt
                                           : std::optional(request.cells[i].target),
                             .fate = Fate::failed,
                             .stage = request.stage,
                             .speed = 0,
                             .needed = 0,
                             .processes = 1,
                             .outcome = outcome});
  }
}

// It is no candidate: a tuner table may keep the default for the cell that failed, and the settings
// were proven without it.
void RunningBlocks::note_failure_of_delivery(const TrialResult& result) {
  const auto failed = std::ranges::find_if(result.cells, is_failure, &CellResult::outcome);
  if (failed != result.cells.end() && delivery_ == model::OutcomeKind::ok)
    delivery_ = failed->outcome;
}

void RunningBlocks::ask_for_rest(const Pending& pending, const TrialResult& result) {
  const TrialRequest& asked = pending.request;
  const bool any_failed = std::ranges::any_of(
      result.cells, [](const CellResult& cell) { return is_failure(cell.outcome); });
  // A delivery that fails is not delivered.
  if (!any_failed || asked.form == Form::delivered ||
      (asked.process != progress_.unset && !progress_.allowed(asked.process)))
    return;
  TrialRequest rest = asked;
  rest.cells.clear();
  bool any_not_run = false;
  for (std::size_t i = 0; i < asked.cells.size(); ++i) {
    const CellRequest& cell = asked.cells[i];
    const bool not_run =
        i >= result.cells.size() || result.cells[i].outcome == model::OutcomeKind::not_run;
    const bool is_default = cell.candidate == asked.process;
    if (!not_run || (!is_default && !progress_.allowed(cell.candidate, cell.target)))
      continue;
    rest.cells.push_back(cell);
    any_not_run = any_not_run || !is_default ||
                  !blocks_[pending.block].trials[pending.trial].measured.log_time(cell.target,
                                                                                  cell.candidate);
  }
  if (any_not_run)
    request(std::move(rest), Cause::cells_not_run, pending.block, pending.trial);
}

void RunningBlocks::settle() {
  struct Unsettled {
    Running* trial;
    std::size_t block;
  };
  std::vector<Unsettled> trials;
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (Running& trial : blocks_[b].trials)
      if (!trial.settled)
        trials.push_back({&trial, b});
  std::ranges::sort(trials, {},
                    [](const Unsettled& one) { return one.trial->measured.request().id; });
  std::vector<const MeasuredTrial*> measured;
  for (const Unsettled& one : trials)
    measured.push_back(&one.trial->measured);
  const std::vector<bool> is_off = off(measured);
  auto is_default = [&](std::size_t i) { return progress_.runs_default(measured[i]->request()); };
  for (std::size_t i = 0; i < trials.size(); ++i) {
    std::size_t before = i, after = i;
    while (before > 0 && !is_default(before))
      --before;
    while (after + 1 < trials.size() && !is_default(after))
      ++after;
    trials[i].trial->settled = true;
    trials[i].trial->disturbed = is_off[before] || is_off[after];
    if (trials[i].trial->disturbed) {
      disturbed_.insert(trials[i].block);
      reject(*trials[i].trial);
    }
  }
  if (!disturbed_.empty())
    wait_for_default();
}

// Adds the default's times that are as before to its level.
std::vector<bool> RunningBlocks::off(const std::vector<const MeasuredTrial*>& trials) {
  std::vector<bool> out(trials.size(), false);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!progress_.runs_default(trials[i]->request()))
      continue;
    const auto log_time = trials[i]->log_time(progress_.space, progress_.unset);
    if (!log_time)
      continue;
    const int id = trials[i]->request().id;
    const auto check = progress_.level.check(id, *log_time);
    if (check && check->is_off()) {
      const bool stays = repeats_ == k_most_repeats;
      disturbances_.push_back({.trial = id,
                               .ratio = std::exp(check->off),
                               .limit = std::exp(check->limit),
                               .new_level = stays});
      if (!stays) {
        out[i] = true;
        continue;
      }
      progress_.level.restart();
    }
    progress_.level.add(id, *log_time);
  }
  return out;
}

void RunningBlocks::wait_for_default() {
  TrialRequest wait = trial_of(progress_, Stage::floor, {progress_.unset});
  if (!progress_.affordable({wait})) {
    disturbed_.clear(); // the step does without these blocks
    return;
  }
  blocks_.push_back({.planned = {wait}, .is_wait = true});
  request(std::move(wait), Cause::default_wait, blocks_.size() - 1, 0);
}

void RunningBlocks::settle_wait() {
  blocks_.back().trials.front().settled = true;
  const MeasuredTrial& trial = blocks_.back().trials.front().measured;
  const auto log_time = trial.log_time(progress_.space, progress_.unset);
  const int id = trial.request().id;
  const auto check = log_time ? progress_.level.check(id, *log_time) : std::nullopt;
  if (check && check->is_off()) {
    off_times_.push_back(*log_time);
    const bool stays = off_times_.size() == k_most_waits;
    disturbances_.push_back({.trial = id,
                             .ratio = std::exp(check->off),
                             .limit = std::exp(check->limit),
                             .new_level = stays});
    if (!stays)
      return wait_for_default();
    progress_.level.restart();
    for (double one : off_times_)
      progress_.level.add(id, one);
  } else if (log_time) {
    progress_.level.add(id, *log_time);
  }
  off_times_.clear();
  repeat();
}

void RunningBlocks::repeat() {
  ++repeats_;
  std::vector<TrialRequest> trials;
  for (const std::size_t b : std::exchange(disturbed_, {})) {
    const RunningBlock& block = blocks_[b];
    for (std::size_t t = 0; t < block.planned.size(); ++t)
      if (block.trials[t].disturbed)
        trials.push_back(block.planned[t]);
    if (!progress_.affordable(trials)) // the step does without the rest
      return;
    for (std::size_t t = 0; t < block.planned.size(); ++t)
      if (block.trials[t].disturbed) {
        mark_repeated(block.trials[t]);
        request(block.planned[t], Cause::default_off, b, t);
      }
  }
}

std::vector<Rejection> RunningBlocks::rejections() const {
  std::vector<Rejection> out;
  for (const auto& [trial, repeated] : rejections_)
    out.push_back({trial, repeated});
  return out;
}

std::vector<Block> RunningBlocks::take() {
  std::vector<Block> out;
  for (RunningBlock& block : blocks_) {
    if (block.is_wait)
      continue;
    Block& believed = out.emplace_back();
    for (Running& trial : block.trials)
      if (!trial.disturbed)
        believed.push_back(std::move(trial.measured));
  }
  blocks_.clear();
  return out;
}

} // namespace ncclprobe::analysis::search
