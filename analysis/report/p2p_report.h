// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/p2p/p2p_matrix.h"
#include "analysis/report_value/report_value.h"

namespace ncclprobe::analysis {

inline constexpr int k_p2p_report_version = 1;

// The report of a run of P2P matrices, which must stay: each as a table (row: from, column: to) in
// which each figure has its share of the link's rate, then unusual figures.
//
// For machines it is one object: schema "ncclprobe.p2p", version, synthetic, run (identity,
// machine, command), matrices (one for each method, direction and size, with its cells),
// beyond_limits. CSV has a row for each cell of each matrix. Units are in the keys; absent values
// are null.
Report p2p_report(const RunSummary& run);

} // namespace ncclprobe::analysis
