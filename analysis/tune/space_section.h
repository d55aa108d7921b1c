// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tune/tuning.h"

// What may be tried, and how much of it the budget has room for.
namespace ncclprobe::analysis::tune {

TablePtr parameter_table(const Tuning& tuning);
// A row for each stage of a search, and one for what follows it.
TablePtr forecast_table(const search::Forecast& forecast);

// The answer before anything is measured.
std::vector<Finding> preparation_findings(const Tuning& tuning);
// Transports, parameters, and what is left out.
Section space_section(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
