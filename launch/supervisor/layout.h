// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ncclprobe::launch {

// Who drives which global rank on which device of which host.
struct RankPlacement {
  int rank = 0;       // global
  int supervisor = 0; // rank in the fleet
  int host = 0;       // number of the host
  int device = 0;     // GPU index (or CPU slot) on that host
};

struct Layout {
  std::vector<RankPlacement> placements; // ordered by rank; rank == index
  std::vector<std::string> hosts;

  int ranks() const { return static_cast<int>(placements.size()); }
  // Empty if it is not known.
  std::string host_name(const RankPlacement& placement) const {
    auto host = static_cast<std::size_t>(placement.host);
    return host < hosts.size() ? hosts[host] : "";
  }
  std::vector<int> host_of_rank() const {
    std::vector<int> hosts_by_rank;
    for (const RankPlacement& placement : placements)
      hosts_by_rank.push_back(placement.host);
    return hosts_by_rank;
  }
  // The layout of a trial on these ranks (TrialSpec::launch_ranks), which are numbered anew.
  Layout of_trial(const std::vector<int>& launch_ranks) const {
    if (launch_ranks.empty())
      return *this;
    Layout some{{}, hosts};
    for (int rank : launch_ranks) {
      some.placements.push_back(placements.at(static_cast<std::size_t>(rank)));
      some.placements.back().rank = some.ranks() - 1;
    }
    return some;
  }
  // What each worker of that supervisor drives in a trial on the first `trial_ranks` ranks.
  std::vector<std::vector<RankPlacement>> workers_of(int supervisor, int trial_ranks,
                                                     int devices_per_worker) const {
    std::vector<std::vector<RankPlacement>> workers;
    for (const RankPlacement& placement : placements) {
      if (placement.supervisor != supervisor || placement.rank >= trial_ranks)
        continue;
      if (workers.empty() || static_cast<int>(workers.back().size()) >= devices_per_worker)
        workers.emplace_back();
      workers.back().push_back(placement);
    }
    return workers;
  }
};

} // namespace ncclprobe::launch
