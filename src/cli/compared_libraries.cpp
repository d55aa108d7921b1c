// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/compared_libraries.h"

#include "cli/option_values.h"

#include <filesystem>
#include <unistd.h>

namespace ncclprobe::cli {

using base::Errc;
using base::fail;
using base::Result;

Result<void> add_compared_library(const std::string& text, std::vector<workload::Axis>& libraries) {
  auto axis = workload::parse_axis(text);
  if (!axis)
    return fail(base::Error{Errc::invalid_argument, fmt::format("'{}' is not NAME=PATH,PATH", text),
                            "for example nccl=/opt/nccl-2.27/lib/libnccl.so.2"});
  NCCLPROBE_TRY(check_library_name(axis->name));
  libraries.push_back(std::move(*axis));
  return {};
}

Result<void> check_library_files(const std::vector<workload::Axis>& libraries) {
  for (const workload::Axis& library : libraries)
    for (const std::string& path : library.values) {
      if (!path.empty() && path.find('/') == std::string::npos)
        continue;
      std::error_code none;
      const char* problem = !std::filesystem::is_regular_file(path, none) ? "is no file"
                            : access(path.c_str(), R_OK) != 0             ? "cannot be read"
                                                                          : nullptr;
      if (problem != nullptr)
        return fail(
            base::Error{Errc::not_found,
                        fmt::format("--compare-library {}: '{}' {}", library.name, path, problem),
                        "name a shared library that is there on every host, such as "
                        "/opt/nccl/lib/libnccl.so.2"});
    }
  return {};
}

} // namespace ncclprobe::cli
