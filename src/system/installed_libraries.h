// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>
#include <map>
#include <string>

namespace ncclprobe::system {

// CUDA runtimes and NCCLs below `root`, where programs find them: LD_LIBRARY_PATH of this
// environment, the loader's cache and folders, CUDA toolkits, and the Python environments of
// VIRTUAL_ENV, CONDA_PREFIX and `python` (an interpreter; may be empty). That one lies there says
// nothing of what a process loads. Relative paths count from the current folder.
std::vector<model::InstalledLibrary>
installed_libraries(const std::map<std::string, std::string>& environment,
                    const std::string& python, const std::filesystem::path& root = "/");

} // namespace ncclprobe::system
