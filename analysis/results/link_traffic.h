// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"

#include <optional>
#include <vector>

// The GPUs' link counters during a long cell (model::Condition). Readings begin after the cell has
// run for a second. Between two readings there are also data checks, pauses between batches, and
// any other use of the links, so a rate is not that of an operation alone.
namespace ncclprobe::analysis {

struct LinkTraffic {
  model::CellLabel label;
  model::TimingMode timing_mode = model::TimingMode::batch;
  int ranks = 0; // in the communicator
  // The highest of any rank, separately for each figure: NVLink between two consecutive readings,
  // PCIe from one reading (which covers about 20 ms before it).
  std::optional<double> nvlink_sent_gb_per_s;
  std::optional<double> nvlink_received_gb_per_s;
  std::optional<double> pcie_sent_gb_per_s;
  std::optional<double> pcie_received_gb_per_s;
};

// For cells with the default settings that were read while they ran: at least twice for NVLink,
// once for PCIe. The highest of all processes that measured a cell.
std::vector<LinkTraffic> link_traffic(const RunSummary& run);

} // namespace ncclprobe::analysis
