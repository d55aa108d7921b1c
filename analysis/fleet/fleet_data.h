// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_report.h"

#include <string>
#include <vector>

// What programs get of a check: JSON and the rows of CSV.
namespace ncclprobe::analysis::fleet {

struct Commands {
  std::vector<std::string> slurm;
  std::vector<std::string> kubernetes;
};

TablePtr node_table(const Checked& checked);
Object fleet_data(const Checked& checked, const TablePtr& nodes, const Commands& commands);

} // namespace ncclprobe::analysis::fleet
