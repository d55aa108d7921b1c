// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"

namespace ncclprobe::analysis::search {

// Measures the fastest combination of process parameters beside the same without each of its
// changes. Changes that are not shown to make it faster (k_confidence) are dropped one at a time,
// because each of two may do the work of both.
class LeaveOutStep : public Step {
public:
  static constexpr int k_rounds = 5; // of each comparison

  explicit LeaveOutStep(Progress& progress) : progress_(progress) {}
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>& blocks) override;

private:
  Candidate without(std::size_t parameter) const;

  Progress& progress_;
  bool done_ = false;
};

} // namespace ncclprobe::analysis::search
