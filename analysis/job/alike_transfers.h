// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/late_causes.h"
#include "analysis/job/step_path.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::job {

// How long alike transfers of other communicators took beyond the usual, by step and class.
class AlikeTransfers {
  static constexpr double k_alike = 0.5; // of the excess that others have too

public:
  AlikeTransfers(const StepGraph& graph, const StepRun& run, const StepPath& path)
      : graph_(graph), run_(run) {
    for (std::uint32_t r = 0; r < run.ranks.size(); ++r)
      for (std::uint32_t i = 0; i < run.ranks[r].size(); ++i) {
        const GraphOperation& own = run.ranks[r][i];
        auto& [sum, count] = excess_[{own.step, graph.slots[own.slot].group}][own.communicator];
        sum += path.excess_of_transfer(r, i);
        ++count;
      }
  }

  DelayCause cause(std::uint32_t rank, std::uint32_t operation) const {
    const GraphOperation& own = run_.ranks[rank][operation];
    const std::uint32_t group = graph_.slots[own.slot].group;
    const auto& all = excess_.at({own.step, group});
    auto mean = [](const auto& one) { return one.first / static_cast<double>(one.second); };
    const double own_ns = mean(all.at(own.communicator));
    std::vector<double> others;
    for (const auto& [communicator, one] : all)
      if (communicator != own.communicator)
        others.push_back(mean(one));
    if (others.empty())
      return graph_.classes[group].kind == trace::NcclKind::collective ? DelayCause::transfer
                                                                       : DelayCause::slow_link;
    const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
    std::ranges::nth_element(others, middle);
    return *middle > k_alike * own_ns ? DelayCause::slow_transfers : DelayCause::slow_link;
  }

private:
  const StepGraph& graph_;
  const StepRun& run_;
  std::map<std::pair<std::uint32_t, std::uint32_t>,
           std::map<std::uint32_t, std::pair<double, std::size_t>>>
      excess_;
};

} // namespace ncclprobe::analysis::job
