// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/job.h"
#include "base/error.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace ncclprobe::analysis::hang {

class Pickle;

// Reads dumps of PyTorch's flight recorder (TORCH_NCCL_DUMP_ON_TIMEOUT), one of each rank. The
// fields are those that torch/csrc/distributed/c10d/FlightRecorderDetail.hpp writes, of version 2.
class FlightRecorderCalls {
public:
  // The rank is the number at the end of the file's name: "nccl_trace_rank_3". `written_ns`: when
  // the file was written (CLOCK_REALTIME), up to when its calls are known. Errors: protocol if the
  // name has no number, or the pickle is no dump; mismatch if the rank was there before.
  Result<void> add(const std::string& file, const Pickle& dump, std::int64_t written_ns);
  Job take();

private:
  std::size_t group_of(const std::string& name, const std::string& description,
                       const std::map<std::string, std::vector<int>>& ranks_of);

  Job job_;
  std::map<std::pair<std::string, std::vector<int>>, std::size_t> groups_; // name and ranks
  std::int64_t last_ns_ = 0;
};

} // namespace ncclprobe::analysis::hang
