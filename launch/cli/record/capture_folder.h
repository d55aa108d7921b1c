// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/output_file.h"
#include "launch/cli/record/job_place.h"

#include <filesystem>

namespace ncclprobe::cli {

// Makes a folder ready for the captures of a job; returns its absolute path. All processes of the
// job may do so, at any time, on all hosts that share the folder. `library`: the profiler plugin; a
// link to it is in plugin_folder(). Errors: invalid_argument if the folder has captures of another
// job, unless `old` is yes: then they are removed; io.
Result<std::filesystem::path> make_capture_folder(const std::filesystem::path& folder,
                                                  const JobPlace& who,
                                                  const std::filesystem::path& library,
                                                  base::Overwrite old);

// The folder in a capture folder that holds nothing but the link to the plugin. It can be on a
// library search path without a change to what else is found there.
std::filesystem::path plugin_folder(const std::filesystem::path& folder);

} // namespace ncclprobe::cli
