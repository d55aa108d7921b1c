// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_process.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis::imports {

// A file and what its reader found in it; without processes it is a part of another file's process
// (import_format.h).
struct ImportedInput {
  std::string path; // "-": standard input
  model::ImportFormat format = model::ImportFormat::nccl_tests_text;
  std::string fingerprint; // of its contents
  ImportedProcesses processes;
};

// "nccl-tests", "NCCL Inspector", "nvbandwidth".
std::string_view program_of(model::ImportFormat format);

// One run of all inputs: each process is a trial with default settings, and the number of its
// replicate is its place. Equal inputs give equal runs, with the same run id. The header lacks the
// command line and the version of ncclprobe. Errors: invalid_argument without inputs; mismatch if
// processes differ in ranks, GPUs, NCCL or environment, because one run is one machine and one
// environment.
Result<model::Run> make_run(const std::vector<ImportedInput>& inputs);

} // namespace ncclprobe::analysis::imports
