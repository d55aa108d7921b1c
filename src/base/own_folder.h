// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <filesystem>

namespace ncclprobe::base {

// A folder in which names are used that others can guess. Makes it (not those above it), so that
// nobody else can write to it, or finds that it is there. Errors: not_found (the one above is not
// there); io, also if it is a symbolic link or of another user, who could have put links in it.
Result<void> make_own_folder(const std::filesystem::path& folder);

} // namespace ncclprobe::base
