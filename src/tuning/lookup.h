// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include <array>
#include <optional>
#include <vector>

namespace ncclprobe::tuning {

// A communicator as NCCL describes it to all of its ranks alike.
struct Shape {
  int ranks = 0;
  int nodes = 0;
  std::optional<NvlinkDomains> domains; // absent: unknown; then only rows for any domains apply
};

// The rows of a table that apply to a communicator, by size.
class Lookup {
public:
  Lookup(const Table& table, const Shape& shape);
  // Index of the row in the table; -1: none. `number`: the collective's in NCCL's interface.
  // Allocates nothing.
  int row_of(int number, std::uint64_t bytes) const;
  bool empty() const;

private:
  struct Range {
    std::uint64_t min_bytes;
    std::uint64_t max_bytes;
    int row;
  };
  std::array<std::vector<Range>, k_tuned_collectives.size()> ranges_; // by size
};

// Whether NCCL's estimate for a call within the row is that of the row's machine: within 25% of the
// line between the row's two estimates, because NCCL's estimates are lines. True if the row has
// none. `us` < 0: unknown, also true.
bool fits_estimate(const Row& row, std::uint64_t bytes, double us);

} // namespace ncclprobe::tuning
