// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace ncclprobe::analysis {

// Which libraries the settings really loaded; empty where all loaded the same and nobody chose.
std::string render_libraries(const model::Run& run);

// An array, one element a setting; empty if no worker told.
nlohmann::ordered_json libraries_json(const model::Run& run);

} // namespace ncclprobe::analysis
