// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/confirm_step.h"

#include <algorithm>

namespace ncclprobe::analysis::search {

double worth_confirming(const Options& options) {
  return 1 + options.min_gain / 2;
}

Judgement ConfirmStep::judgement() const {
  Judgement out = judgement_;
  if (out.table.empty()) {
    Finalists none;
    none.in_process.resize(progress_.space.targets.size());
    out = judge(progress_.space, none, {progress_.floor, {}}, progress_.options.min_gain, k_rates);
  }
  auto add_missing = [&](const Candidate& candidate, std::optional<std::size_t> target) {
    const bool has_reason = std::ranges::any_of(out.reasons, [&](const Reason& reason) {
      return reason.candidate == candidate && reason.target == target;
    });
    if (!has_reason && progress_.allowed(candidate, target))
      out.reasons.push_back({.candidate = candidate,
                             .target = target,
                             .fate = Fate::unfinished,
                             .stage = Stage::confirm});
  };
  if (progress_.process)
    add_missing(*progress_.process, {});
  for (std::size_t target = 0; target < progress_.in_process.size(); ++target)
    for (const Candidate& one : progress_.in_process[target])
      add_missing(one, target);
  return out;
}

TrialRequest ConfirmStep::trial_under(const Candidate& process) {
  TrialRequest trial{.stage = Stage::confirm, .process = process};
  for (std::size_t target = 0; target < progress_.space.targets.size(); ++target) {
    trial.cells.push_back({target, process});
    for (const Candidate& values : progress_.in_process[target])
      if (Candidate one = joined(progress_.space, process, values); progress_.allowed(one, target))
        trial.cells.push_back({target, std::move(one)});
  }
  put_in_random_order(trial.cells, progress_.random);
  return trial;
}

std::vector<TrialRequest> ConfirmStep::block() {
  std::vector<TrialRequest> block{trial_under(progress_.unset)};
  if (progress_.process && progress_.allowed(*progress_.process))
    block.push_back(trial_under(*progress_.process));
  return block;
}

// Each side comes first in one half of the blocks, and a draw decides in which. An order drawn for
// each block would lose more of them to a disturbance, because two finalists would often lie
// between the same two trials of the default.
std::vector<std::vector<TrialRequest>> ConfirmStep::blocks_in_random_order(int count) {
  std::vector<std::vector<TrialRequest>> blocks;
  const bool finalist_begins = progress_.random() % 2 == 0;
  const int turn = (count + static_cast<int>(progress_.random() % 2)) / 2;
  for (int i = 0; i < count; ++i) {
    const bool finalist_first = (i < turn) == finalist_begins;
    blocks.push_back(block());
    if (finalist_first)
      std::ranges::reverse(blocks.back());
  }
  return blocks;
}

// Every finalist's trial shall lie between two of the default.
void ConfirmStep::enclose(std::vector<std::vector<TrialRequest>>& blocks) {
  if (blocks.front().front().process != progress_.unset)
    blocks.insert(blocks.begin(), std::vector{trial_under(progress_.unset)});
  if (blocks.back().back().process != progress_.unset)
    blocks.push_back(std::vector{trial_under(progress_.unset)});
}

std::vector<int> ConfirmStep::planned_looks() {
  const std::vector<TrialRequest> one = block();
  std::vector<TrialRequest> all{trial_under(progress_.unset)}; // to enclose them, on average
  int room = 0;
  for (; room < k_looks.back(); ++room) {
    all.insert(all.end(), one.begin(), one.end());
    if (!progress_.affordable(all))
      break;
  }
  std::vector<int> looks;
  for (int look : k_looks)
    if (look <= room)
      looks.push_back(look);
  if (looks.empty())
    looks.push_back(0);
  looks.back() = room;
  return looks;
}

std::vector<std::vector<TrialRequest>> ConfirmStep::next() {
  const bool nothing =
      !progress_.process &&
      std::ranges::all_of(progress_.in_process, [](auto& of) { return of.empty(); });
  if (done_ || nothing || (look_ > 0 && look_ == looks_.size()))
    return {};
  progress_.reserve_s = 0;
  if (look_ == 0)
    looks_ = planned_looks();
  auto planned = blocks_in_random_order(looks_[look_] - (look_ == 0 ? 0 : looks_[look_ - 1]));
  std::vector<std::vector<TrialRequest>> blocks;
  for (; !planned.empty(); planned.pop_back()) { // disturbances may have taken the time
    blocks = planned;
    enclose(blocks);
    std::vector<TrialRequest> all;
    for (const auto& one : blocks)
      all.insert(all.end(), one.begin(), one.end());
    if (progress_.affordable(all))
      break;
  }
  if (planned.empty()) {
    progress_.complete = false;
    blocks.clear();
  }
  ++look_;
  return blocks;
}

void ConfirmStep::learn(const std::vector<Block>& blocks) {
  for (const Block& block : blocks)
    trials_.insert(trials_.end(), block.begin(), block.end());
  const Evidence evidence{progress_.floor, trials_};
  const auto looks = static_cast<double>(looks_.size());
  judgement_ = judge(progress_.space, finalists(), evidence, progress_.options.min_gain,
                     {k_rates.winner / looks, k_rates.further_row / looks});
  done_ = judgement_.decided;
  if (!done_ && look_ == looks_.size() && looks_.back() < k_looks.back())
    progress_.complete = false;
}

} // namespace ncclprobe::analysis::search
