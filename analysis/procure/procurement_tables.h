// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/procurement.h"
#include "analysis/report_value/report_value.h"

#include <optional>
#include <string>
#include <vector>

// Tables of a comparison of nodes. Each holds all it shows.
namespace ncclprobe::analysis::procure {

// A row for each node and workload, for machines.
TablePtr entry_table(const Procurement& all);
// The same rows for people: time, scaling, cost, memory, and what is used.
TablePtr step_view(const Procurement& all);
TablePtr scaling_view(const Procurement& all);
// A bar for each node and workload; of limits, the least and how much more it may be.
Chart cost_chart(const Procurement& all);
TablePtr cost_view(const Procurement& all);
TablePtr use_view(const Procurement& all);
TablePtr memory_view(const Procurement& all);
// A row for each node.
TablePtr mix_table(const Procurement& all);
TablePtr difference_table(const Procurement& all);
TablePtr turning_table(const Procurement& all);

// "0.55 [0.53, 0.57]", "at least 1.8".
std::string ratio_in_words(const std::optional<double>& ratio, const Bounds& range);
// "120000 per node, written off over 4 years at 70% utilisation; 0.25 per kWh, PUE 1.3".
std::string price_in_words(const Price& price);

} // namespace ncclprobe::analysis::procure
