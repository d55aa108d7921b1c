// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/measured_cell.h"

namespace ncclprobe::analysis::steps {

const model::Cell* cell_of(const model::Run& run, const StepResult& result) {
  for (const model::TrialRecord& trial : run.trials)
    for (const model::Cell& cell : trial.spec.cells)
      if (cell.label == result.label)
        return &cell;
  return nullptr;
}

std::vector<int> hosts_of(const model::Run& run) {
  std::vector<int> hosts(run.header.ranks.size(), 0);
  for (const model::RankPlace& place : run.header.ranks)
    if (place.rank >= 0 && place.rank < std::ssize(hosts))
      hosts[place.rank] = place.host;
  return hosts;
}

} // namespace ncclprobe::analysis::steps
