// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/nccl_rows.h"

#include "base/fields.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace ncclprobe::analysis::timeline {

// Communicators of one size that lack the same ranks.
struct MissingRanks {
  std::size_t communicators = 0;
  int communicator_size = 0;
  std::vector<int> ranks; // in the communicator, ascending
  bool operator==(const MissingRanks&) const = default;
};
NCCLPROBE_FIELDS(MissingRanks, communicators, communicator_size, ranks)

// The ranks' communicators show which other ranks should have traces.
class CommunicatorRoll {
public:
  void add(const std::vector<trace::CommunicatorRow>& of_rank);
  // Most communicators first.
  std::vector<MissingRanks> missing() const;

private:
  struct Known {
    int size = 0;
    std::set<int> ranks;
  };
  std::map<std::uint64_t, Known> communicators_; // by NCCL's number
};

} // namespace ncclprobe::analysis::timeline
