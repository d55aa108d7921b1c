// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"

#include <cstdint>
#include <vector>

namespace ncclprobe::analysis::job {

// Indexes of nccl_operations in the order in which the rank called NCCL. Operations of unknown
// communicators are left out.
std::vector<std::uint32_t> operation_order(const timeline::RankTrace& trace);

} // namespace ncclprobe::analysis::job
