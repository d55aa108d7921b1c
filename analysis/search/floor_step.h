// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"

namespace ncclprobe::analysis::search {

// Measures the default in fresh processes: how far equal settings differ here.
class FloorStep : public Step {
public:
  static constexpr int k_trials = 4;

  explicit FloorStep(Progress& progress) : progress_(progress) {}
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>& blocks) override;

private:
  Progress& progress_;
  bool done_ = false;
};

} // namespace ncclprobe::analysis::search
