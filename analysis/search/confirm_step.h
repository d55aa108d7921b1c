// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/judgement.h"
#include "analysis/search/progress.h"

#include <array>
#include <vector>

namespace ncclprobe::analysis::search {

// Measures the finalists in processes that had no part in choosing, in pairs with the default. The
// order in the pairs is random and turns halfway, so that steady drift makes neither side slower.
// The default also runs first and last, so that a disturbance shows. The step looks at fixed
// numbers of blocks, and ends early when everything is decided. Each look has an
// equal part of k_rates (Bonferroni), so all looks together keep them. If the budget has no room
// for all looks, fewer are planned, and the last one takes all blocks that there is room for.
class ConfirmStep : public Step {
public:
  static constexpr std::array k_looks{5, 8, 12};                            // blocks
  static constexpr ErrorRates k_rates{.winner = 0.01, .further_row = 0.05}; // of a search

  explicit ConfirmStep(Progress& progress) : progress_(progress) {}
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>& blocks) override;

  // Finalists that no look reached are unfinished.
  Judgement judgement() const;

private:
  Finalists finalists() const { return {progress_.process, progress_.in_process}; }
  std::vector<TrialRequest> block();
  std::vector<std::vector<TrialRequest>> blocks_in_random_order(int count);
  void enclose(std::vector<std::vector<TrialRequest>>& blocks);
  std::vector<int> planned_looks();
  TrialRequest trial_under(const Candidate& process);

  Progress& progress_;
  std::vector<MeasuredTrial> trials_;
  std::size_t look_ = 0;
  std::vector<int> looks_; // planned
  bool done_ = false;
  Judgement judgement_;
};

// Only candidates that were faster than this when they were chosen are confirmed. Others would most
// probably not win.
double worth_confirming(const Options& options);

} // namespace ncclprobe::analysis::search
