// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/no_answer.h"

#include "launch/supervisor/trial_outcome.h"

#include <map>

namespace ncclprobe::launch {

Error no_answer(const std::set<int>& ranks, const std::vector<std::string>& hosts,
                std::chrono::nanoseconds patience) {
  std::map<std::string, std::vector<int>> ranks_by_host;
  for (int rank : ranks)
    ranks_by_host[hosts.empty() ? "" : hosts.at(rank)].push_back(rank);
  std::string who;
  for (const auto& [host, of_host] : ranks_by_host) {
    who += (who.empty() ? "" : ", ") + name_ranks(of_host);
    if (!host.empty())
      who += " on " + host;
  }
  return {Errc::unavailable,
          fmt::format("{} did not answer over MPI within {} s", who,
                      std::chrono::duration<double>(patience).count()),
          "look whether these hosts are up and reach rank 0's over the network that MPI uses: "
          "mpirun --mca btl_tcp_if_include NAME chooses it"};
}

} // namespace ncclprobe::launch
