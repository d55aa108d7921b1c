// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <filesystem>
#include <string_view>

namespace ncclprobe::base {

// Replaces `path` by `content`: written beside it as ".tmp", fsynced, renamed, folder fsynced. A
// reader sees the old file or the new one, never a part. Errors: io, with the system's words.
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content);

// fsync.
Result<void> sync_file(const std::filesystem::path& path);

// The last two steps for a file that someone else wrote as `temporary`: fsync, rename, fsync
// folder.
Result<void> publish_file(const std::filesystem::path& temporary,
                          const std::filesystem::path& path);

// Whole content of a file. Errors: not_found, io.
Result<std::string> read_file(const std::filesystem::path& path);

} // namespace ncclprobe::base
