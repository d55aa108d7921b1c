// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/link_traffic.h"

#include "analysis/results/cell_summary.h"
#include "analysis/results/label_key.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

bool any(const LinkRates& rates) {
  return rates.nvlink_sent_gb_per_s || rates.nvlink_received_gb_per_s || rates.pcie_sent_gb_per_s ||
         rates.pcie_received_gb_per_s;
}

void include(LinkTraffic& traffic, const LinkRates& rates) {
  // An absent rate is below any rate.
  auto larger = [](std::optional<double>& most, const std::optional<double>& rate) {
    most = std::max(most, rate);
  };
  larger(traffic.nvlink_sent_gb_per_s, rates.nvlink_sent_gb_per_s);
  larger(traffic.nvlink_received_gb_per_s, rates.nvlink_received_gb_per_s);
  larger(traffic.pcie_sent_gb_per_s, rates.pcie_sent_gb_per_s);
  larger(traffic.pcie_received_gb_per_s, rates.pcie_received_gb_per_s);
}

} // namespace

std::vector<LinkTraffic> link_traffic(const RunSummary& run) {
  std::vector<LinkTraffic> all;
  std::map<std::tuple<LabelKey, model::TimingMode, int>, std::size_t> places; // in `all`
  for (std::size_t t = 0; t < run.trials.size(); ++t) {
    const model::TrialRecord& trial = run.trials[t];
    if (trial.spec.purpose != model::Purpose::measure)
      continue;
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
      const model::Cell& cell = trial.spec.cells[c];
      const LinkRates& rates = run.summaries[t].cells[c].readings.links;
      if (!any(rates) || !is_default(trial.spec, cell))
        continue;
      const int ranks = communicator_size(trial.spec, cell);
      auto [place, is_new] =
          places.emplace(std::tuple(LabelKey{&cell.label}, cell.timing.mode, ranks), all.size());
      if (is_new)
        all.push_back({.label = cell.label, .timing_mode = cell.timing.mode, .ranks = ranks});
      include(all[place->second], rates);
    }
  }
  return all;
}

} // namespace ncclprobe::analysis
