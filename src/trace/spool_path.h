// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <filesystem>

namespace ncclprobe::trace {

// The spool of the worker whose first rank is `rank`: "trace-000007-00003.spool".
inline std::filesystem::path spool_path(const std::filesystem::path& folder, int trial, int rank) {
  return folder / fmt::format("trace-{:06}-{:05}.spool", trial, rank);
}

} // namespace ncclprobe::trace
