// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"

#include <vector>

namespace ncclprobe::analysis::search {

// Measures what is delivered in the form in which a job loads it, in turns with the default. The
// default's last confirming trial ran just before, so each trial of the delivery lies between two
// of the default, and a disturbance shows. Nothing is chosen here: the times are judged elsewhere.
// Time for it was kept back (Options::end_s), but not for repeats.
class DeliveryStep : public Step {
public:
  static constexpr int k_pairs = 3;
  static constexpr int k_trials = 2 * k_pairs;

  explicit DeliveryStep(Progress& progress) : progress_(progress) {}
  // `of_targets`: what each target gets. All have the same process parameters.
  void begin(std::vector<Candidate> of_targets) { of_targets_ = std::move(of_targets); }
  std::vector<std::vector<TrialRequest>> next() override;
  void learn(const std::vector<Block>&) override {}

private:
  Progress& progress_;
  std::vector<Candidate> of_targets_; // empty: nothing to measure
};

} // namespace ncclprobe::analysis::search
