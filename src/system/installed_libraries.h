// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>
#include <map>
#include <string>

namespace ncclprobe::system {

// CUDA runtimes and NCCLs below `root` in the places that programs search: LD_LIBRARY_PATH of this
// environment, the loader's cache and folders, CUDA toolkits, and the Python environments of
// VIRTUAL_ENV, CONDA_PREFIX and `python` (an interpreter; may be empty). An installed library need
// not be the one that a process loads. Relative paths start at the current folder.
std::vector<model::InstalledLibrary>
installed_libraries(const std::map<std::string, std::string>& environment,
                    const std::string& python, const std::filesystem::path& root = "/");

} // namespace ncclprobe::system
