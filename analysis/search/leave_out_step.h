// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"

#include <map>
#include <optional>
#include <vector>

namespace ncclprobe::analysis::search {

// Measures the fastest combination of process parameters beside the same without each of its
// changes, in turns with the default. A change that is not shown to make it faster is dropped. One
// at a time, because each of two may do the work of both; what is shown to count is not measured
// again.
//
// It looks after five rounds and, for changes that are still open, after five more. Each look has
// an equal part of k_alpha, with Holm's correction over the changes. A change is open if its gain
// may still be min_gain or more.
class LeaveOutStep : public Step {
public:
  static constexpr int k_rounds = 5; // before each look, if the budget has room
  static constexpr int k_least_rounds = 3;
  static constexpr int k_looks = 2;
  static constexpr double k_alpha = 0.025; // one-sided

  explicit LeaveOutStep(Progress& progress) : progress_(progress) {}
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>& blocks) override;

private:
  struct Comparison {
    std::size_t parameter = 0;
    Gain gain;
    double p = 1; // that it gains nothing
  };
  Candidate without(std::size_t parameter) const;
  std::vector<TrialRequest> round();
  void add(const std::vector<Block>& blocks);
  std::vector<Comparison> compare() const;
  void drop(const Comparison& needless);

  Progress& progress_;
  std::optional<std::vector<std::size_t>> open_;   // parameters; nothing: not begun
  std::map<Candidate, std::vector<double>> times_; // over the default's, since the last drop
  int looks_ = 0;                                  // since the last drop
};

} // namespace ncclprobe::analysis::search
