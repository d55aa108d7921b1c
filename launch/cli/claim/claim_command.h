// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/claim.h"
#include "launch/cli/common/usage.h"

#include <filesystem>
#include <optional>
#include <string>

namespace ncclprobe::cli {

struct ClaimOptions : ResultOptions {
  std::optional<double> sync_change, step_change; // as stated
  analysis::cost_model::Claim claim;
  std::filesystem::path run_file; // its steps give the exposed share; may be empty
  std::string setting; // setting of that run; its measured changes are the claim; may be empty
};

Usage claim_usage(ClaimOptions& into);

// "-9%" -> -0.09. Errors: invalid_argument unless it is a change of a time, which is above -100%.
Result<double> parse_change(const std::string& text);

// Prints what the claim means. Returns the exit code (0, 2, 9).
int check_claim(ClaimOptions options);

} // namespace ncclprobe::cli
