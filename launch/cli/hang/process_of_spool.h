// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/job.h"

#include <cstdint>
#include <filesystem>

namespace ncclprobe::cli {

struct SpoolProcess {
  analysis::hang::ProcessState state = analysis::hang::ProcessState::unknown;
  std::int64_t here = 0; // its number on this host, if it is alive
};

// The process of a spool has the number that is written there, in its container, and the file open.
// A number alone may be another process's, and a forked child has the file open too.
SpoolProcess process_of_spool(std::uint32_t number, const std::filesystem::path& spool);

} // namespace ncclprobe::cli
