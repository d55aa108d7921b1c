// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/cost_model/claim.h"
#include "base/error.h"

#include <filesystem>
#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

namespace ncclprobe::cli {

struct ClaimOptions {
  analysis::cost_model::Claim claim;
  std::filesystem::path run_file; // whose steps say how much is exposed; may be empty
  std::string setting;            // of that run, whose measured changes are the claim; may be empty
};

// Options, or the exit code to leave with at once, as parse_report_arguments. `arguments` without
// "claim".
std::variant<ClaimOptions, int> parse_claim_arguments(const std::vector<std::string>& arguments,
                                                      std::ostream& out, std::ostream& err);

// "-9%" -> -0.09. Errors: invalid_argument for what is no change of a time, which cannot fall below
// -100%.
base::Result<double> parse_change(const std::string& text);

} // namespace ncclprobe::cli
