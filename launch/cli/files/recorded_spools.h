// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <filesystem>
#include <vector>

namespace ncclprobe::cli {

// The spools in a folder, sorted by name; none if it has none. Errors: io, not_found (a recording
// in which no process recorded anything).
base::Result<std::vector<std::filesystem::path>> spools_in(const std::filesystem::path& folder);

} // namespace ncclprobe::cli
