// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/delivery_step.h"

#include <utility>

namespace ncclprobe::analysis::search {

std::vector<std::vector<TrialRequest>> DeliveryStep::next() {
  const std::vector<Candidate> of_targets = std::exchange(of_targets_, {});
  std::vector<std::vector<TrialRequest>> blocks;
  if (of_targets.empty())
    return blocks;
  TrialRequest delivered{.stage = Stage::delivery,
                         .form = Form::delivered,
                         .process = process_part(progress_.space, of_targets.front())};
  TrialRequest of_default{.stage = Stage::delivery, .process = progress_.unset};
  // In the same order on both sides: a job's order does not change.
  for (std::size_t target = 0; target < of_targets.size(); ++target) {
    delivered.cells.push_back({target, of_targets[target]});
    of_default.cells.push_back({target, progress_.unset});
  }
  for (int i = 0; i < k_pairs; ++i)
    blocks.push_back({delivered, of_default});
  return blocks;
}

} // namespace ncclprobe::analysis::search
