// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/link_traffic.h"

#include "analysis/cell_summary.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using Counter = std::optional<std::uint64_t> model::Condition::*;
using Rate = std::optional<double>;

// Bytes per ns are GB/s.
Rate rate(const model::Condition& from, const model::Condition& to, Counter counter) {
  if (!(from.*counter) || !(to.*counter) || to.*counter < from.*counter || to.at_ns <= from.at_ns)
    return std::nullopt;
  return static_cast<double>(*(to.*counter) - *(from.*counter)) /
         static_cast<double>(to.at_ns - from.at_ns);
}

Rate gb_per_s(const std::optional<std::int32_t>& mb_per_s) {
  return mb_per_s ? Rate(*mb_per_s / 1e3) : std::nullopt;
}

bool include(Rate& most, const Rate& value) {
  if (!value || (most && *most >= *value))
    return false;
  most = value;
  return true;
}

bool add_readings(LinkTraffic& traffic, const std::vector<model::Condition>& readings) {
  using C = model::Condition;
  bool found = false;
  const C* before = nullptr;
  for (const C& one : readings) {
    if (one.when != C::When::during)
      continue;
    found = include(traffic.pcie_sent_gb_per_s, gb_per_s(one.pcie_sent_mb_per_s)) || found;
    found = include(traffic.pcie_received_gb_per_s, gb_per_s(one.pcie_received_mb_per_s)) || found;
    if (before != nullptr && before->rank == one.rank) {
      found =
          include(traffic.nvlink_sent_gb_per_s, rate(*before, one, &C::nvlink_sent_bytes)) || found;
      found = include(traffic.nvlink_received_gb_per_s,
                      rate(*before, one, &C::nvlink_received_bytes)) ||
              found;
    }
    before = &one;
  }
  return found;
}

} // namespace

std::vector<LinkTraffic> link_traffic(const model::Run& run) {
  std::vector<LinkTraffic> all;
  for (const model::TrialRecord& trial : run.trials) {
    if (trial.spec.purpose != model::Purpose::measure)
      continue;
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
      const model::Cell& cell = trial.spec.cells[c];
      if (!is_default(trial.spec, cell))
        continue;
      LinkTraffic traffic{.label = cell.label,
                          .timing_mode = cell.timing.mode,
                          .ranks = communicator_size(trial.spec, cell)};
      auto same = std::find_if(all.begin(), all.end(), [&](const LinkTraffic& one) {
        return one.label == traffic.label && one.timing_mode == traffic.timing_mode &&
               one.ranks == traffic.ranks;
      });
      if (same != all.end())
        traffic = *same;
      if (!add_readings(traffic, trial.cells[c].conditions))
        continue;
      if (same == all.end())
        all.push_back(std::move(traffic));
      else
        *same = std::move(traffic);
    }
  }
  return all;
}

} // namespace ncclprobe::analysis
