// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <string>
#include <vector>

namespace ncclprobe::cli {

struct VersionFiles {
  std::string library;            // "nccl"
  std::vector<std::string> paths; // the oldest first; two or more
};

// "nccl=/opt/nccl-*/libnccl.so.2": the files of the pattern, in the order of the numbers in their
// paths (2.9 before 2.10). "nccl=/b,/a": these, in this order. Errors: invalid_argument; not_found
// if there are fewer than two.
Result<VersionFiles> version_files(const std::string& text);

} // namespace ncclprobe::cli
