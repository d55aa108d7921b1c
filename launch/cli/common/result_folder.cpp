// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/result_folder.h"

#include <fmt/format.h>

namespace ncclprobe::cli {

using namespace base;

Result<void> make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error))
    return fail({Errc::invalid_argument, folder.string() + " exists already and is not a folder",
                 "name a folder with --output"});
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail({Errc::io,
                 fmt::format("cannot create the folder {}: {}", folder.string(), error.message()),
                 "name another one with --output"});
  return {};
}

} // namespace ncclprobe::cli
