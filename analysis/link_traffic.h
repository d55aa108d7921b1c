// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <optional>
#include <string>
#include <vector>

// What GPUs counted on their links while a long cell ran (model::Condition): beside what was timed
// that holds warm-ups, checks and pauses between batches, so it is at most what was measured.
namespace ncclprobe::analysis {

struct LinkTraffic {
  model::CellLabel label;
  int rank = 0; // with the most
  // Between two readings that follow one another, the most of any rank.
  std::optional<double> nvlink_sent_gb_per_s;
  std::optional<double> nvlink_received_gb_per_s;
  std::optional<double> pcie_sent_gb_per_s;
  std::optional<double> pcie_received_gb_per_s;
};

// Of cells with the default settings that were looked at twice or more while they ran; of each
// label the most.
std::vector<LinkTraffic> link_traffic(const model::Run& run);

} // namespace ncclprobe::analysis
