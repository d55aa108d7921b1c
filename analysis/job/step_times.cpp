// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_times.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <numeric>

namespace ncclprobe::analysis::job {

std::optional<StepTimes> step_times(const timeline::Timeline& timeline, int kind) {
  std::vector<double> lengths_ns;
  double ranks = 0;
  for (const timeline::RankTimeline& rank : timeline.ranks) {
    const auto cell = rank.cells.find(kind);
    if (cell == rank.cells.end())
      continue;
    const std::vector<double>& own = cell->second.lengths_ns.values();
    if (lengths_ns.empty())
      lengths_ns.resize(own.size());
    if (own.size() != lengths_ns.size()) // a rank that was cut elsewhere
      continue;
    std::ranges::transform(lengths_ns, own, lengths_ns.begin(), std::plus{});
    ++ranks;
  }
  if (lengths_ns.empty())
    return std::nullopt;
  for (double& length_ns : lengths_ns)
    length_ns /= ranks;
  const std::size_t steps = lengths_ns.size();
  const std::size_t blocks = std::min(steps, timeline::k_most_blocks);
  std::vector<std::vector<double>> sums(1, std::vector<double>(blocks));
  for (std::size_t i = 0; i < steps; ++i)
    sums[0][timeline::block_of_step(i, steps, blocks)] += lengths_ns[i];
  const double all_ns = std::accumulate(lengths_ns.begin(), lengths_ns.end(), 0.0);
  return StepTimes{all_ns / static_cast<double>(steps),
                   timeline::bootstrap_per_step(sums, timeline::steps_in_blocks(steps, blocks))[0],
                   quantile(lengths_ns, 0.95)};
}

} // namespace ncclprobe::analysis::job
