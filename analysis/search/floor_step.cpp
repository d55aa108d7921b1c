// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/floor_step.h"

namespace ncclprobe::analysis::search {

std::vector<std::vector<TrialRequest>> FloorStep::next() {
  std::vector<std::vector<TrialRequest>> blocks;
  if (!std::exchange(done_, true))
    for (int i = 0; i < k_trials; ++i)
      blocks.push_back({trial_of(progress_, Stage::floor, {progress_.unset})});
  return blocks;
}

void FloorStep::learn(const std::vector<Block>& blocks) {
  for (const Block& block : blocks)
    progress_.floor.insert(progress_.floor.end(), block.begin(), block.end());
}

} // namespace ncclprobe::analysis::search
