// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>
#include <map>
#include <string>

namespace ncclprobe::system {

// This user's home folder as NCCL finds it: from the user database, not from HOME.
std::string home_folder();

// The files from which NCCL reads settings; the environment has priority. They are the one that
// NCCL_CONF_FILE names or else <home>/.nccl.conf, then /etc/nccl.conf (NCCL 2.30,
// src/misc/param.cc). If two set a variable, the first wins.
std::vector<model::NcclFile> nccl_files(const std::map<std::string, std::string>& environment,
                                        const std::string& home = home_folder(),
                                        const std::filesystem::path& root = "/");

} // namespace ncclprobe::system
