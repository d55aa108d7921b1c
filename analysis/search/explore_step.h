// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"

#include <set>

namespace ncclprobe::analysis::search {

// Tries combinations of process parameters, one trial each, in blocks with the default. In-process
// parameters are not set: the settings file must win alone. A budget without room for screening is
// spent on this step and on confirming.
class ExploreStep : public Step {
public:
  // Combinations beside a trial of the default. Single values are fewer: the model builds on them,
  // so a disturbance that ends before the default runs again would mislead it.
  static constexpr std::size_t k_block = 4;
  static constexpr std::size_t k_block_of_single_values = 3;

  explicit ExploreStep(Progress& progress) : progress_(progress) {}
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>& blocks) override;

private:
  std::vector<TrialRequest> affordable_block();
  std::vector<Candidate> doubtful(const std::vector<Observation>& seen) const;
  std::vector<std::vector<TrialRequest>> finish();

  Progress& progress_;
  std::set<Candidate> repeated_; // doubtful combinations that were measured again
  bool done_ = false;
};

} // namespace ncclprobe::analysis::search
