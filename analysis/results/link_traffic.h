// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"

#include <optional>
#include <string>
#include <vector>

// What GPUs counted on their links while a long cell ran (model::Condition). Looking begins once
// the cell has run for a second; between two readings there are also checks of data and pauses
// between batches, and whatever else used the links, so a rate is not that of an operation alone.
namespace ncclprobe::analysis {

struct LinkTraffic {
  model::CellLabel label;
  model::TimingMode timing_mode = model::TimingMode::batch;
  int ranks = 0; // in the communicator
  // The most of any rank, of each figure by itself: NVLink between two readings that follow one
  // another, PCIe as one reading tells it (of the 20 ms or so before).
  std::optional<double> nvlink_sent_gb_per_s;
  std::optional<double> nvlink_received_gb_per_s;
  std::optional<double> pcie_sent_gb_per_s;
  std::optional<double> pcie_received_gb_per_s;
};

// Of cells with the default settings that were looked at while they ran: for NVLink twice or more,
// for PCIe once. Of all processes that measured a cell the most.
std::vector<LinkTraffic> link_traffic(const RunSummary& run);

} // namespace ncclprobe::analysis
