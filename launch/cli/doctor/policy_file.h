// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/policy.h"

#include <filesystem>

namespace ncclprobe::cli {

// A policy of suitability, TOML with the keys of analysis::Policy. Errors: not_found, io, and
// invalid_argument with file and line.
base::Result<analysis::Policy> read_policy(const std::filesystem::path& file);

} // namespace ncclprobe::cli
