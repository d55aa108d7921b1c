// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/break_even.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// What bounds each step, and how much it must compute for its communication to be hidden
// (break_even.h). Empty for steps that transfer nothing.
std::string render_break_even(const std::vector<steps::StepResult>& results);

// Without its identity.
nlohmann::ordered_json break_even_json(const steps::BreakEven& one);

} // namespace ncclprobe::analysis
