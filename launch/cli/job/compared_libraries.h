// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"

#include <string>
#include <vector>

// Libraries as one dimension of a sweep.
namespace ncclprobe::cli {

// "nccl=/b/libnccl.so.2,/c/libnccl.so.2". Errors: invalid_argument.
base::Result<workload::Axis> parse_compared_library(const std::string& text);

// Errors: not_found for a file that is not on this host or cannot be read, so that a run does not
// find out in its trials. Bare names are left to the loader.
base::Result<void> check_library_files(const std::vector<workload::Axis>& libraries);

// What tells the contents of the files apart that these options name, by path: so that a run goes
// on with the same ones. Of the leader's host.
std::vector<model::Setting> contents_of_files(const RunOptions& options);

} // namespace ncclprobe::cli
