// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/inventory.h"

#include <string>
#include <vector>

namespace ncclprobe::workload {

// The settings that the default job compares with the defaults. One variable at a time: each is a
// common first try on such a machine, and none can change results. A result shows where to look; it
// is not a tuning. Nothing for one rank, which talks to nobody.
std::vector<std::vector<model::Setting>>
default_sweep(const std::string& backend, const std::vector<model::HostInventory>& hosts,
              int ranks);

} // namespace ncclprobe::workload
