// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "model/run.h"

#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis {

inline constexpr FindingKind k_wrong_data{"wrong_data", Severity::error,
                                          "{cell} with {setting} (trial {trial}){ranks}: {what}"};

// A finding for each cell that delivered wrong data, for a prominent place; empty if there are
// none.
Section wrong_data_section(const model::Run& run);

// Trials that did not go well; those with the same setting and the same outcome together.
using ProblemGroup = std::vector<const model::TrialRecord*>;
std::vector<ProblemGroup> problem_groups(const model::Run& run);

// What the reader can do about a trial: only advice that holds for any cause, or that the evidence
// supports.
std::string advice(const model::TrialRecord& trial, std::string_view backend);

inline constexpr const char* k_problem_section = "problems"; // its key

// What was not measured, and why. Trials with the same setting and the same outcome are listed
// together, with ranks, each worker's progress, its last output, and what to do next. Empty if all
// went well.
Report problem_report(const model::Run& run);

} // namespace ncclprobe::analysis
