// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/steps/break_even.h"

#include <vector>

namespace ncclprobe::analysis {

// What bounds each step (break_even.h).
TablePtr break_even_table(const std::vector<steps::BreakEven>& all, bool synthetic);

// Rows of that table for people: one kind of step and one setting, those of `lead`. Empty if none
// of these steps transfers anything.
Section break_even_section(const std::vector<steps::BreakEven>& all, const TablePtr& table,
                           const steps::StepResult& lead);

} // namespace ncclprobe::analysis
