// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/p2p/p2p_matrix.h"
#include "analysis/reference/reference_range.h"

namespace ncclprobe::analysis {

// Is a matrix normal for the node it was measured on? Judged by its median; single slower pairs are
// outliers.
struct P2pVerdict {
  RangeVerdict verdict;
  std::string text; // one line
};

// Nothing where a verdict could be wrong: without a reference (latency, all at once, messages,
// kernels on most GPUs); on hardware other than GPUs; if the GPUs of the first host differ; or if
// some pair does not use all NVLinks of a GPU, which references assume.
std::optional<P2pVerdict> judge(const model::RunHeader& header, const P2pMatrix& matrix);

} // namespace ncclprobe::analysis
