// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "base/printable.h"
#include "base/text_layout.h"
#include "model/outcome.h"
#include "model/trial.h"

#include <string>

// Words that sections of the report share.
namespace ncclprobe::analysis {

using base::count_of;
using base::format_number;
using base::format_size_range;
using base::grouped;
using base::join;
using base::k_report_columns;
using base::k_rows_shown;
using base::last_lines;
using base::ms_text;
using base::paragraph;
using base::percent_above;
using base::printable;
using base::ratio_text;
using base::size_text;
using base::wrap;

// "all_reduce, f32 sum, root 2, graph": the constant part of a table.
std::string describe(const model::CellLabel& label);
// The same, with ", latency of single launches" in that mode.
std::string describe(const SettingResult& result);

// "in place".
std::string placement_text(model::Placement placement);

// In microseconds.
std::optional<double> in_us(std::optional<double> ns);

// " on rank 3", " on ranks 0-3"; empty without ranks.
std::string on_ranks(const std::vector<int>& ranks);

// "timed out".
std::string in_words(model::OutcomeKind kind);

} // namespace ncclprobe::analysis
