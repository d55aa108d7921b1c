// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/survey/case.h"

#include <chrono>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// Runs `interpreter` and asks it for its PyTorch. What goes wrong is in `problem`.
analysis::doctor::PythonTorch
ask_python(const std::string& interpreter, const std::vector<std::string>& environment,
           std::chrono::milliseconds patience = std::chrono::seconds(60)); // a cold disk is slow

} // namespace ncclprobe::cli
