// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/comparison.h"
#include "analysis/compare/history.h"
#include "analysis/report_value/report_value.h"

// Where the numbers of a comparison come from, and how its verdicts were reached: the end of its
// page. JSON has the runs, and the program that compared them.
namespace ncclprobe::analysis::compare {

TablePtr source_table(const std::vector<RunSource>& sources);
// The runs, and the program that compared them.
Section source_section(const std::vector<RunSource>& sources);

// The tests, their correction, and what counts as a difference.
Section comparison_method(const RunComparison& comparison);
Section history_method();

} // namespace ncclprobe::analysis::compare
