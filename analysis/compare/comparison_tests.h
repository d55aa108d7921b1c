// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/comparison_report.h"
#include "analysis/report_value/junit_writer.h"

namespace ncclprobe::analysis::compare {

// A test case for each gate, or without gates for each comparison as a whole, and one for each
// cell. Only gates fail if there are any. Otherwise a cell fails if it is slower and the scatter
// between runs is known, or if its data is wrong. Other cells without a verdict are skipped.
std::vector<JUnitSuite> comparison_tests(const std::vector<JudgedComparison>& comparisons);

} // namespace ncclprobe::analysis::compare
