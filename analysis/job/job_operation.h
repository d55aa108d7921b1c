// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ncclprobe::analysis::job {

// One of NCCL's operations on one rank of a captured job.
struct JobOperation {
  // Equal for operations that do the same: communicator, function, size, type, root and peer. The
  // size is left out where it nearly always differs, as in exchanges of experts.
  std::uint64_t signature = 0;
  // `where` and `which` together identify the operation on all ranks that take part in it:
  // communicator and function (of a message: sender and receiver), and its number there.
  std::uint64_t where = 0;
  std::uint64_t which = 0;
  std::uint64_t bytes = 0;
  std::int64_t begin_ns = 0,
               end_ns = 0;        // on one clock of the rank, of the GPU if it reported times
  std::int64_t pause_ns = 0;      // before it, since the end of all earlier operations
  std::uint32_t row = 0;          // of RankTrace::nccl_operations
  std::uint16_t communicator = 0; // CommunicatorRow::id
  bool on_gpu = false;            // its times are the GPU's
  bool reduces = false;           // may be gradients: all-reduce or reduce-scatter
};

// The same on all ranks that take part in an operation, and only in that one.
std::uint64_t meeting_key(const trace::NcclOperationRow& row, const trace::CommunicatorRow& in);

// NCCL's name of a function that adds up what the ranks have and can therefore carry gradients.
bool is_reduction(const std::string& function);

// In the order in which the rank called NCCL. Operations of unknown communicators are left out.
std::vector<JobOperation> job_operations(const timeline::RankTrace& trace,
                                         const std::vector<std::string>& texts);

} // namespace ncclprobe::analysis::job
