// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"
#include "analysis/search/race.h"

namespace ncclprobe::analysis::search {

// Screens the in-process candidates of all targets, in one process a round, in turns with the
// default's cells. Successive halving: each round measures fewer candidates, each for longer.
// Source: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter
// Optimization", AISTATS 2016.
class ScreenStep : public Step {
public:
  static constexpr int k_rounds = 4;

  explicit ScreenStep(Progress& progress) : progress_(progress) {}
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>& blocks) override;

private:
  void leave(std::size_t target, const std::vector<Race::Left>& left, Fate fate);
  void finish();

  Progress& progress_;
  Candidate process_;
  std::vector<Race> races_; // of each target
  int rounds_ = 0;
  bool done_ = false;
};

// A round with so many candidates for each target.
TrialRequest screen_trial(Progress& progress, const Candidate& process,
                          const std::vector<std::vector<Candidate>>& candidates);
// All that may be screened for that target under these process parameters.
std::vector<Candidate> screened(const Progress& progress, const Candidate& process,
                                std::size_t target);

} // namespace ncclprobe::analysis::search
