// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/files/recorded_spools.h"

#include "launch/cli/common/recorded_folder.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::cli {

namespace fs = std::filesystem;
using base::Errc;

base::Result<std::vector<fs::path>> spools_in(const fs::path& folder) {
  std::vector<fs::path> spools;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".spool")
      spools.push_back(at->path());
  if (failed)
    return base::fail(Errc::io, "cannot read folder {}: {}", folder.string(), failed.message());
  if (spools.empty() && fs::exists(folder / k_recorded_job, failed))
    return base::fail(
        {Errc::not_found,
         fmt::format("{} is empty: no process of the job recorded anything", folder.string()),
         "the job must use NCCL 2.27 or later; with NCCL_DEBUG=INFO, lines of "
         "PROFILER/Plugin say whether it found libncclprobe-profiler.so"});
  std::ranges::sort(spools);
  return spools;
}

} // namespace ncclprobe::cli
