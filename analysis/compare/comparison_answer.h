// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/comparison.h"
#include "analysis/report_value/report_value.h"

// What a comparison says as a whole.
namespace ncclprobe::analysis::compare {

// What is wrong comes first.
std::vector<Finding> answers_of(const RunComparison& comparison);

// "12 cells, other ranks: all_reduce, f32 sum, 1M, 2 ranks; ...", for each reason.
std::vector<std::string> left_out_in_words(const RunComparison& comparison);

} // namespace ncclprobe::analysis::compare
