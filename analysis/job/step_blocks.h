// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_graph.h"
#include "analysis/statistics/inference.h"
#include "analysis/timeline/block_bootstrap.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace ncclprobe::analysis::job {

// The steps of one kind that have a length, in blocks for intervals. The first step of a run has
// none, because nobody knows what its first operation waited for.
class StepBlocks {
public:
  StepBlocks(const StepGraph& graph, std::uint32_t kind) {
    for (const StepRun& run : graph.runs)
      if (run.kind == kind && run.steps > 1) {
        firsts_.push_back(run.first + 1);
        before_.push_back(steps_);
        steps_ += run.steps - 1;
      }
    blocks_ = std::min(steps_, timeline::k_most_blocks);
  }

  std::size_t steps() const { return steps_; }
  std::size_t blocks() const { return blocks_; }
  // Of a step that has one.
  std::size_t index_of(std::uint32_t step) const {
    const auto after = std::ranges::upper_bound(firsts_, step);
    const auto run = static_cast<std::size_t>(after - firsts_.begin()) - 1;
    return before_[run] + (step - firsts_[run]);
  }
  std::size_t block_of(std::uint32_t step) const {
    return timeline::block_of_step(index_of(step), steps_, blocks_);
  }
  // 95% intervals of means per step. `sums`: by figure and block.
  std::vector<std::optional<Interval>>
  intervals(const std::vector<std::vector<double>>& sums) const {
    if (sums.empty() || steps_ == 0)
      return std::vector<std::optional<Interval>>(sums.size());
    return timeline::bootstrap_per_step(sums, timeline::steps_in_blocks(steps_, blocks_));
  }

private:
  std::vector<std::uint32_t> firsts_;
  std::vector<std::size_t> before_;
  std::size_t steps_ = 0, blocks_ = 0;
};

} // namespace ncclprobe::analysis::job
