// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/gate.h"
#include "analysis/report_value/report_value.h"

#include <memory>

namespace ncclprobe::analysis::compare {

struct JudgedComparison {
  RunComparison comparison;
  std::vector<GateResult> gates; // point into `comparison`
};

// One or more comparisons, in order. Of JSON: "comparisons", each with its cells; of CSV: all
// cells.
Report comparison_report(std::shared_ptr<const std::vector<JudgedComparison>> comparisons);

} // namespace ncclprobe::analysis::compare
