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
  // Empty if it is not known.
  std::string host_name(const RankSeat& seat) const {
    auto host = static_cast<std::size_t>(seat.host);
    return host < hosts.size() ? hosts[host] : "";
  }
  std::vector<int> host_of_rank() const {
    std::vector<int> hosts_by_rank;
    for (const RankSeat& seat : seats)
      hosts_by_rank.push_back(seat.host);
    return hosts_by_rank;
  }
  // Of a trial on the first `trial_ranks` ranks: what each worker of that supervisor drives.
  std::vector<std::vector<RankSeat>> workers_of(int supervisor, int trial_ranks,
                                                int seats_per_worker) const {
    std::vector<std::vector<RankSeat>> workers;
    for (const RankSeat& seat : seats) {
      if (seat.supervisor != supervisor || seat.rank >= trial_ranks)
        continue;
      if (workers.empty() || static_cast<int>(workers.back().size()) >= seats_per_worker)
        workers.emplace_back();
      workers.back().push_back(seat);
    }
    return workers;
  }
};

} // namespace ncclprobe::launch
