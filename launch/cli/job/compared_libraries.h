// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"

#include <string>
#include <vector>

// Libraries as one dimension of a sweep.
namespace ncclprobe::cli {

// "nccl=/b/libnccl.so.2,/c/libnccl.so.2". Errors: invalid_argument.
Result<workload::Axis> parse_compared_library(const std::string& text);

// Errors: not_found for a file that is missing on this host or cannot be read, so that a run fails
// at once and not in its trials. Bare names are left to the loader.
Result<void> check_library_files(const std::vector<workload::Axis>& libraries);

// Fingerprints of the files that these options name, by path, on the leader's host. A resumed run
// needs the same contents.
std::vector<model::Setting> contents_of_files(const RunOptions& options);

} // namespace ncclprobe::cli
