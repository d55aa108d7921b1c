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
      request(blocks[b][t], Cause::planned, b, t);
  }
}

void RunningBlocks::request(TrialRequest trial, Cause cause, std::size_t block, std::size_t place) {
  trial.id = next_id_++;
  trial.cause = cause;
  Block& measured = blocks_[block].measured;
  if (cause != Cause::cells_not_run) {
    if (measured.size() <= place)
      measured.emplace_back(trial);
    else
      measured[place] = MeasuredTrial(trial);
  }
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
  MeasuredTrial& measured = blocks_[pending.block].measured[pending.trial];
  for (std::size_t i = 0; i < request.cells.size() && i < result.cells.size(); ++i)
    if (result.cells[i].outcome == model::OutcomeKind::ok) {
      measured.add(request.cells[i], result.cells[i].time_ns);
      progress_.worked.insert(request.process);
    }
  blame(request, result);
  ask_for_rest(pending, result);
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
    if (guilty == progress_.unset) {
      default_failed_ = true;
      continue;
    }
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

void RunningBlocks::ask_for_rest(const Pending& pending, const TrialResult& result) {
  const TrialRequest& asked = pending.request;
  const bool any_failed = std::ranges::any_of(
      result.cells, [](const CellResult& cell) { return is_failure(cell.outcome); });
  if (!any_failed || default_failed_ ||
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
    any_not_run =
        any_not_run || !is_default ||
        !blocks_[pending.block].measured[pending.trial].log_time(cell.target, cell.candidate);
  }
  if (any_not_run)
    request(std::move(rest), Cause::cells_not_run, pending.block, pending.trial);
}

void RunningBlocks::settle() {
  std::vector<const MeasuredTrial*> trials;
  for (const Running& block : blocks_)
    if (!block.settled)
      for (const MeasuredTrial& trial : block.measured)
        trials.push_back(&trial);
  std::ranges::sort(trials, {}, [](const MeasuredTrial* one) { return one->request().id; });
  const std::vector<bool> is_off = off(trials);
  auto is_default = [&](std::size_t i) { return trials[i]->process() == progress_.unset; };
  std::set<int> disturbed; // ids
  for (std::size_t i = 0; i < trials.size(); ++i) {
    std::size_t before = i, after = i;
    while (before > 0 && !is_default(before))
      --before;
    while (after + 1 < trials.size() && !is_default(after))
      ++after;
    if (is_off[before] || is_off[after])
      disturbed.insert(trials[i]->request().id);
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b].settled)
      continue;
    blocks_[b].settled = true;
    if (std::ranges::any_of(blocks_[b].measured, [&](const MeasuredTrial& trial) {
          return disturbed.contains(trial.request().id);
        })) {
      blocks_[b].measured.clear(); // not believed
      disturbed_.push_back(b);
    }
  }
  if (!disturbed_.empty())
    wait_for_default();
}

// Adds the default's times that are as before to its level.
std::vector<bool> RunningBlocks::off(const std::vector<const MeasuredTrial*>& trials) {
  std::vector<bool> out(trials.size(), false);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i]->process() != progress_.unset)
      continue;
    const auto log_time = trials[i]->log_time(progress_.space, progress_.unset);
    if (!log_time)
      continue;
    const int id = trials[i]->request().id;
    const auto check = progress_.level.check(*log_time);
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
  wait.cause = Cause::default_off;
  if (!progress_.affordable({wait})) {
    disturbed_.clear(); // the step does without these blocks
    return;
  }
  blocks_.push_back({.planned = {wait}, .settled = true});
  request(std::move(wait), Cause::default_off, blocks_.size() - 1, 0);
}

void RunningBlocks::settle_wait() {
  const MeasuredTrial& trial = blocks_.back().measured.front();
  const auto log_time = trial.log_time(progress_.space, progress_.unset);
  const int id = trial.request().id;
  const auto check = log_time ? progress_.level.check(*log_time) : std::nullopt;
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
  for (std::size_t b : std::exchange(disturbed_, {})) {
    trials.insert(trials.end(), blocks_[b].planned.begin(), blocks_[b].planned.end());
    if (!progress_.affordable(trials)) // the step does without the rest
      return;
    blocks_[b].settled = false;
    for (std::size_t t = 0; t < blocks_[b].planned.size(); ++t)
      request(blocks_[b].planned[t], Cause::default_off, b, t);
  }
}

std::vector<Block> RunningBlocks::take() {
  std::vector<Block> out;
  for (Running& block : blocks_)
    if (block.planned.front().cause != Cause::default_off) // a default's trial before a repeat
      out.push_back(std::move(block.measured));
  blocks_.clear();
  return out;
}

} // namespace ncclprobe::analysis::search
