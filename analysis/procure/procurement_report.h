// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/procurement.h"
#include "analysis/report_value/report_value.h"

namespace ncclprobe::analysis::procure {

// The order of costs first, then steps, costs, differences, the prices at which the order turns,
// the five dimensions of each node, and what is unknown. CSV has a row for each node and workload.
Report procurement_report(const Procurement& all);

} // namespace ncclprobe::analysis::procure
