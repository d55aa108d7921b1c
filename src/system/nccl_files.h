// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>
#include <string>

namespace ncclprobe::system {

// The files that NCCL takes settings from besides the environment, which wins: `named` (the value
// of NCCL_CONF_FILE) or else <home>/.nccl.conf, then /etc/nccl.conf (NCCL 2.30, src/misc/param.cc).
// Of two that set a variable the first wins.
std::vector<model::NcclFile> nccl_files(const std::string& named, const std::string& home,
                                        const std::filesystem::path& root = "/");

// The home folder of this user as NCCL finds it: by the user database, not by HOME.
std::string home_folder();

} // namespace ncclprobe::system
