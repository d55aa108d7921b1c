// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "model/cell_label.h"

#include <string>
#include <string_view>

// How tables that mix cells of a run name their rows.
namespace ncclprobe::analysis {

// All but size, ranks and setting: "all_reduce, f32 sum, graph, in place, one at a time", "ddp m,
// bf16, batch 8, bucket=25MiB, compute alone".
std::string cell_name(const model::CellLabel& label, model::TimingMode mode);
std::string cell_name(const SettingResult& result);

// Without the scope of a step: "ddp m, bf16, batch 8, bucket=25MiB".
std::string cell_family(const model::CellLabel& label, model::TimingMode mode);
// What tells cells of a family apart: the size, or the scope of a step.
std::string cell_member(const model::CellLabel& label);

// "1M"; k_no_size for steps, whose bytes follow from their model, and for cells that move no data.
inline constexpr std::string_view k_no_size = "-";
std::string cell_size(const model::CellLabel& label);
std::optional<std::uint64_t> cell_bytes(const model::CellLabel& label); // as above, without a value

// A cell on its own: "all_reduce 1M", "ddp m, bf16, batch 8, bucket=25MiB, 2 ranks, compute alone".
std::string cell_in_full(const model::CellLabel& label);

// "2 ranks, compute alone"
std::string step_scope(const model::StepLabel& step);

// For a step the ranks that train, else those of the communicator.
int rank_count(const model::CellLabel& label, int communicator);

} // namespace ncclprobe::analysis
