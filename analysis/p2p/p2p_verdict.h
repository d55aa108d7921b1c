// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/p2p/p2p_matrix.h"
#include "analysis/reference/reference_range.h"

namespace ncclprobe::analysis {

// Is a matrix normal for the node it was measured on? By its median; single pairs that are slower
// are outliers.
struct P2pVerdict {
  RangeVerdict verdict;
  std::string text; // one line
};

// Nothing for what has no reference (latency, all at once, messages, kernels on most GPUs), on
// other hardware than GPUs, where the GPUs of the first host are not alike, and where some pair has
// another link than all NVLinks of a GPU, of which references are: no verdict is better than a
// wrong one.
std::optional<P2pVerdict> judge(const model::RunHeader& header, const P2pMatrix& matrix);

} // namespace ncclprobe::analysis
