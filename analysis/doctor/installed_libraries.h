// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/survey/case.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis::doctor {

// A CUDA runtime or NCCL that is installed on a host but loaded by no surveyed process there.
struct NotLoaded {
  std::string host;
  const model::InstalledLibrary* library = nullptr; // of the case
};
// By host, in the order of the search.
std::vector<NotLoaded> not_loaded(const Case& one);

// "CUDA runtime", "NCCL"
std::string part_of(const model::InstalledLibrary& library);

} // namespace ncclprobe::analysis::doctor
