// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <string>
#include <vector>

namespace ncclprobe::cli {

// Where a job's NCCL listens by default (NCCL_RAS_ADDR).
inline constexpr const char* k_ras_address = "localhost:28028";

// The verbose status that NCCL's RAS gives: which ranks of which communicators do not respond or
// are behind. At most 1 MiB, in lines. RAS asks all processes, which takes up to 5 s. Errors:
// invalid_argument (no HOST:PORT), unavailable, timed_out.
Result<std::vector<std::string>> ask_ras(const std::string& address);

} // namespace ncclprobe::cli
