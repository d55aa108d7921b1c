// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/chooser.h"
#include "analysis/search/progress.h"

namespace ncclprobe::analysis::search {

// Tries combinations of process parameters, one trial each, in blocks with the default. In-process
// parameters are not set: the settings file must win alone. A budget without room for screening is
// spent on this step and on confirming.
class ExploreStep : public Step {
public:
  static constexpr std::size_t k_block = 4; // combinations beside a trial of the default

  explicit ExploreStep(Progress& progress);
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>& blocks) override;

private:
  struct Tried {
    Candidate candidate;
    int trial = 0;
    double log_time = 0;
  };
  std::vector<Observation> observations() const;
  std::vector<TrialRequest> affordable_block();
  std::vector<std::vector<TrialRequest>> finish();

  Progress& progress_;
  std::unique_ptr<Chooser> chooser_;
  std::vector<Tried> tried_;
  bool done_ = false;
};

} // namespace ncclprobe::analysis::search
