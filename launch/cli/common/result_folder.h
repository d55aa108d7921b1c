// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <filesystem>

namespace ncclprobe::cli {

// Makes the folder that --output names, if it is not there. Errors: invalid_argument (a file has
// that name), io.
base::Result<void> make_folder(const std::filesystem::path& folder);

} // namespace ncclprobe::cli
