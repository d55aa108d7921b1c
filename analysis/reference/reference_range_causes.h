// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/reference/reference_range.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// Why a figure may be below the normal range, likeliest first, each with a way to check it.
std::vector<std::string> likely_causes(const NodeLinks& links, const MeasuredFigure& figure,
                                       const RangeVerdict& verdict);

} // namespace ncclprobe::analysis
