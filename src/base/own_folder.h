// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <filesystem>

namespace ncclprobe::base {

// A folder for file names that others can guess. Creates it (not its parents), writable only by
// this user, or checks an existing one. Errors: not_found (its parent); io, also if it is a
// symbolic link or belongs to another user, who could have put links in it.
Result<void> make_own_folder(const std::filesystem::path& folder);

} // namespace ncclprobe::base
