// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "analysis/report_value/report_value.h"
#include "model/run.h"

#include <map>
#include <vector>

// Hosts as pictures: NUMA nodes, PCIe switches, GPUs and NICs as boxes in boxes, NVLinks as lines.
namespace ncclprobe::analysis {

// Ranks by the number of their GPU (topology::Gpu::index).
using RanksOfGpus = std::map<int, std::vector<int>>;
struct PicturedHost {
  topology::Host host;
  RanksOfGpus ranks;
};

// A picture for each host. Hosts that differ only in their names and ranks share one; if there are
// many different hosts, only the first few are drawn. A host of which nothing is known has none.
// Tables have a row for each box and line: "id"; "kind" (a topology::OutlineNode::Kind, or
// "nvlink"); "inside", the box that contains it, or from which a line begins; "to", the box at
// which a line ends; "title"; "details".
std::vector<Chart> topology_charts(const std::vector<PicturedHost>& hosts);
// The same for the hosts of a run.
std::vector<Chart> topology_charts(const model::RunHeader& header);

} // namespace ncclprobe::analysis
