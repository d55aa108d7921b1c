// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"
#include "analysis/search/race.h"

#include <optional>

namespace ncclprobe::analysis::search {

// Measures the best combinations of process parameters again, in turns with the default, and hands
// on the fastest.
class ProcessRaceStep : public Step {
public:
  static constexpr std::size_t k_contenders = 3;
  static constexpr int k_rounds = 3;

  explicit ProcessRaceStep(Progress& progress) : progress_(progress) {}
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>& blocks) override;

private:
  std::vector<TrialRequest> round();
  void leave(const std::vector<Race::Left>& left, Fate fate);
  void finish();

  Progress& progress_;
  std::optional<Race> race_;
  int rounds_ = 0;
  bool done_ = false;
};

} // namespace ncclprobe::analysis::search
