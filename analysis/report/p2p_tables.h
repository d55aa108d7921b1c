// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/p2p/p2p_matrix.h"
#include "analysis/report_value/report_value.h"

#include <vector>

// P2P matrices for machines. Run and matrices must stay.
namespace ncclprobe::analysis {

// A row for each matrix, with its cells.
TablePtr matrices_table(const model::RunHeader& header, const std::vector<P2pMatrix>& matrices);

// For CSV: a row for each cell of each matrix.
TablePtr p2p_rows_table(const RunSummary& run, const std::vector<P2pMatrix>& matrices);

} // namespace ncclprobe::analysis
