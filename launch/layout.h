// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ncclprobe::launch {

// Who drives which global rank on which device of which host.
struct RankSeat {
  int rank = 0;       // global
  int supervisor = 0; // rank in the fleet
  int host = 0;       // number of the host
  int device = 0;     // GPU index (or CPU slot) on that host
};

struct Layout {
  std::vector<RankSeat> seats; // ordered by rank; rank == index
  std::vector<std::string> hosts;

  int ranks() const { return static_cast<int>(seats.size()); }
  std::vector<int> host_of_rank() const {
    std::vector<int> hosts_by_rank;
    for (const RankSeat& seat : seats)
      hosts_by_rank.push_back(seat.host);
    return hosts_by_rank;
  }
};

} // namespace ncclprobe::launch
