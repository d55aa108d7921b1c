// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"

#include <string>

// A run file is data, and may be somebody else's. What its plan would make this machine start, load
// or read is used only if the command line that resumes the run names it again. Whose file it is
// does not matter: a shared disk says nothing about who wrote what.
namespace ncclprobe::cli {

// What must be named, as options for a shell: " --library nccl=/opt/libnccl.so.2"; empty if
// nothing. These are libraries and worker programs, model files, and all variables except those
// known to be harmless values.
std::string options_to_name(const RunOptions& plan);

// `said`: the command line. Errors: invalid_argument if something that must be named is not, with
// the command that names it; and if something is named that the plan does not have.
Result<void> check_named(const std::string& run_file, const RunOptions& plan,
                         const RunOptions& said);

// Removes from `said` what it has named, so that the plan's values are used.
void drop_named(RunOptions& said);

} // namespace ncclprobe::cli
