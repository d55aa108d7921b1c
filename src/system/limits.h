// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// Of this process: locked memory, open files, stack, processes. From <root>/proc/self/limits.
std::vector<model::Limit> limits(const std::filesystem::path& root = "/");

} // namespace ncclprobe::system
