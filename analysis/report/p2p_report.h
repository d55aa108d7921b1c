// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/p2p/p2p_matrix.h"

#include <string>

namespace ncclprobe::analysis {

// The report of a run of P2P matrices: each as a table (row: from, column: to) with the share of
// what the link carries beside each figure, then what stands out.
std::string render_p2p_table(const RunSummary& run);

// One object: schema "ncclprobe.p2p", version, synthetic, run (identity, machine, command),
// matrices (one for each method, direction and size, with its cells), findings. Units are in the
// keys; what is absent is null. Ends with a newline.
std::string render_p2p_json(const model::Run& run);

// RFC 4180: a row for each cell of each matrix. Units are in the column names.
std::string render_p2p_csv(const model::Run& run);

inline constexpr int k_p2p_report_version = 1;

} // namespace ncclprobe::analysis
