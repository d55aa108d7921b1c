// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace ncclprobe::workload {

// The TOML text as a JSON document, with dates as text. (toml++ compiles slowly, so only this file
// includes it for models.) Errors: invalid_argument, with file and line.
Result<nlohmann::json> toml_as_json(const std::string& text, const std::string& file);

} // namespace ncclprobe::workload
