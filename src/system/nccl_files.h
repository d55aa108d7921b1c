// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>
#include <string>

namespace ncclprobe::system {

// The files from which NCCL reads settings; the environment has priority. They are `named` (the
// value of NCCL_CONF_FILE) or else <home>/.nccl.conf, then /etc/nccl.conf (NCCL 2.30,
// src/misc/param.cc). If two set a variable, the first wins.
std::vector<model::NcclFile> nccl_files(const std::string& named, const std::string& home,
                                        const std::filesystem::path& root = "/");

// This user's home folder as NCCL finds it: from the user database, not from HOME.
std::string home_folder();

} // namespace ncclprobe::system
