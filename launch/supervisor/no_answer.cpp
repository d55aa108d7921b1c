// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/no_answer.h"

#include "launch/supervisor/trial_outcome.h"

#include <map>

namespace ncclprobe::launch {

std::string name_with_hosts(const std::set<int>& ranks, const std::vector<std::string>& hosts) {
  std::map<std::string, std::vector<int>> ranks_by_host;
  for (int rank : ranks)
    ranks_by_host[hosts.empty() ? "" : hosts.at(rank)].push_back(rank);
  std::string who;
  for (const auto& [host, of_host] : ranks_by_host) {
    who += (who.empty() ? "" : ", ") + name_ranks(of_host);
    if (!host.empty())
      who += " on " + host;
  }
  return who;
}

Error gone(const std::set<int>& ranks, const std::vector<std::string>& hosts) {
  return {Errc::unavailable, name_with_hosts(ranks, hosts) + " ended before the others",
          "look at the output of these ranks"};
}

Error no_answer(const std::set<int>& ranks, const std::vector<std::string>& hosts,
                std::chrono::nanoseconds patience, Network network) {
  const bool mpi = network == Network::mpi;
  return {Errc::unavailable,
          fmt::format("{} did not answer over {} within {} s", name_with_hosts(ranks, hosts),
                      mpi ? "MPI" : "TCP", std::chrono::duration<double>(patience).count()),
          mpi ? "check that these hosts are up and reach rank 0's host over the network that MPI "
                "uses: mpirun --mca btl_tcp_if_include NAME chooses it"
              : "check that these hosts are up and reach rank 0's host at MASTER_ADDR"};
}

} // namespace ncclprobe::launch
