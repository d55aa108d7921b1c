// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/step_results.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis {

// Hidden and exposed communication of these steps; empty if no trace of them is known.
std::string render_by_kernels(const std::vector<const steps::StepResult*>& rows);

} // namespace ncclprobe::analysis
