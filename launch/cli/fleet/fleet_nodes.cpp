// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/fleet/fleet_nodes.h"

#include "base/name_ranks.h"
#include "base/text_layout.h"

#include <algorithm>
#include <map>

namespace ncclprobe::cli {
namespace {

// With three, a slow node is in two of three pairs, and its partners look as slow as it does.
constexpr int k_least_nodes = 4;

std::size_t most_common_size(const std::vector<std::vector<int>>& ranks) {
  std::map<std::size_t, int> counts;
  for (const auto& one : ranks)
    ++counts[one.size()];
  return std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
}

// One for each host, or several.
void add_nodes(FleetNodes& nodes, const std::string& host, const std::vector<int>& ranks,
               std::optional<int> ranks_per_node) {
  if (!ranks_per_node) {
    nodes.names.push_back(host);
    nodes.ranks.push_back(ranks);
    return;
  }
  const auto size = static_cast<std::ptrdiff_t>(*ranks_per_node);
  for (auto first = ranks.begin(); first != ranks.end();) {
    const auto last = first + std::min(size, ranks.end() - first);
    nodes.ranks.emplace_back(first, last);
    nodes.names.push_back(host + "/" + base::name_ranks(nodes.ranks.back()));
    first = last;
  }
}

} // namespace

int FleetNodes::node_of(int rank) const {
  for (int node = 0; node < count(); ++node)
    if (const auto& own = ranks[static_cast<std::size_t>(node)];
        std::ranges::find(own, rank) != own.end())
      return node;
  return -1;
}

base::Result<FleetNodes> fleet_nodes(const std::vector<std::string>& hosts,
                                     const std::vector<int>& host_of_rank,
                                     std::optional<int> ranks_per_node) {
  std::vector<std::vector<int>> ranks_of_host(hosts.size());
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank)
    ranks_of_host.at(static_cast<std::size_t>(host_of_rank[rank]))
        .push_back(static_cast<int>(rank));
  FleetNodes nodes;
  nodes.whole_hosts = !ranks_per_node;
  for (std::size_t host = 0; host < hosts.size(); ++host)
    if (!ranks_of_host[host].empty())
      add_nodes(nodes, hosts[host], ranks_of_host[host], ranks_per_node);
  if (nodes.count() < k_least_nodes)
    return base::fail(base::Error{
        base::Errc::mismatch,
        fmt::format("{} cannot be told apart: a check needs at least {}",
                    nodes.count() == 1 ? "one node" : fmt::format("{} nodes", nodes.count()),
                    k_least_nodes),
        "start it on more nodes (mpirun --map-by ppr:1:node, srun --ntasks-per-node=1), or measure "
        "their links with `ncclprobe p2p`"});
  const std::size_t usual = most_common_size(nodes.ranks);
  nodes.ranks_per_node = static_cast<int>(usual);
  for (int node = 0; node < nodes.count(); ++node)
    if (const std::size_t own = nodes.ranks[static_cast<std::size_t>(node)].size(); own != usual)
      nodes.faults.push_back(
          {node, 0, analysis::fleet::Reason::other_ranks,
           fmt::format("has {}, most nodes have {}", base::count_of(own, "rank", "ranks"), usual)});
  return nodes;
}

base::Result<FleetNodes> fleet_nodes(const model::RunHeader& header,
                                     std::optional<int> ranks_per_node) {
  std::vector<std::string> hosts;
  for (const model::HostInventory& host : header.hosts)
    hosts.push_back(host.hostname);
  std::vector<int> host_of_rank;
  for (const auto& rank : header.ranks)
    host_of_rank.push_back(rank.host);
  return fleet_nodes(hosts, host_of_rank, ranks_per_node);
}

} // namespace ncclprobe::cli
