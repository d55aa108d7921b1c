// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/comparison_report.h"
#include "analysis/report_value/junit_writer.h"

namespace ncclprobe::analysis::compare {

// A test case for each gate, or without gates for each comparison as a whole, and one for each
// cell. A cell fails if it is slower and the scatter between runs is known; what is undecided or
// not comparable is skipped, but a gate that is not passed fails.
std::vector<JUnitSuite> comparison_tests(const std::vector<JudgedComparison>& comparisons);

} // namespace ncclprobe::analysis::compare
