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
    out = judge(progress_.space, none, {progress_.floor, {}}, progress_.options.min_gain, k_alpha);
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

std::vector<int> ConfirmStep::planned_looks() {
  const std::vector<TrialRequest> one = block();
  std::vector<TrialRequest> all{trial_under(progress_.unset)}; // after the last block
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
  std::vector<std::vector<TrialRequest>> blocks;
  std::vector<TrialRequest> all{trial_under(progress_.unset)};
  for (int i = look_ == 0 ? 0 : looks_[look_ - 1]; i < looks_[look_]; ++i) {
    blocks.push_back(block());
    all.insert(all.end(), blocks.back().begin(), blocks.back().end());
    if (!progress_.affordable(all)) { // disturbances took the time
      blocks.pop_back();
      break;
    }
  }
  if (blocks.empty())
    progress_.complete = false;
  else if (blocks.back().size() > 1)
    blocks.push_back({trial_under(progress_.unset)}); // every candidate runs between two of these
  ++look_;
  return blocks;
}

void ConfirmStep::learn(const std::vector<Block>& blocks) {
  for (const Block& block : blocks)
    trials_.insert(trials_.end(), block.begin(), block.end());
  const Evidence evidence{progress_.floor, trials_};
  judgement_ = judge(progress_.space, finalists(), evidence, progress_.options.min_gain,
                     k_alpha / static_cast<double>(looks_.size()));
  done_ = judgement_.decided;
  if (!done_ && look_ == looks_.size() && looks_.back() < k_looks.back())
    progress_.complete = false;
}

} // namespace ncclprobe::analysis::search
