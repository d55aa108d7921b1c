// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/predictions.h"

#include "base/number_list.h"
#include "base/text_table.h"
#include "topology/bottleneck.h"
#include "topology/derive.h"
#include "topology/nvlink_domain.h"
#include "topology/placement.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace ncclprobe::topology {
namespace {

using Align = base::TextTable::Align;

std::string first_links(const Bottleneck& found) {
  std::string text;
  for (std::size_t i = 0; i < found.links.size() && i < 2; ++i)
    text += (i == 0 ? "" : ", ") + found.links[i];
  if (found.links.size() > 2)
    text += fmt::format(" and {} more", found.links.size() - 2);
  return text;
}

// "NVLink domain over hosts 0-3 (MNNVL): cluster 7d3b..., clique 1"
std::string domains_text(const Machine& machine) {
  std::map<NvlinkDomain, std::set<int>> hosts_of;
  for (std::size_t host = 0; host < machine.hosts.size(); ++host)
    for (const Gpu& gpu : machine.hosts[host].gpus)
      if (auto domain = nvlink_domain(gpu))
        hosts_of[*domain].insert(static_cast<int>(host));
  std::string text;
  for (const auto& [domain, hosts] : hosts_of)
    if (hosts.size() > 1)
      text += fmt::format("NVLink domain over hosts {} (MNNVL): cluster {}, clique {}\n",
                          base::format_number_list({hosts.begin(), hosts.end()}),
                          domain.cluster_uuid, domain.clique);
  return text;
}

} // namespace

std::string render_ceilings(const Machine& machine) {
  std::vector<RankGpu> ranks = rank_per_gpu(machine);
  if (ranks.size() < 2)
    return "Ceilings: none, with fewer than two GPUs\n";
  struct Row {
    const char* names;
    Traffic traffic;
  };
  base::TextTable table({{"collective", Align::left},
                         {"busbw at most"},
                         {"because of", Align::left},
                         {"bottleneck", Align::left}});
  Bottleneck ring;
  for (Row row : {Row{"all_reduce, all_gather, reduce_scatter (rings)", Traffic::ring},
                  Row{"broadcast", Traffic::broadcast}, Row{"reduce", Traffic::reduce},
                  Row{"all_to_all", Traffic::all_to_all}, Row{"gather", Traffic::gather},
                  Row{"scatter", Traffic::scatter}, Row{"send_recv", Traffic::send_recv}}) {
    Bottleneck found = bottleneck(machine, ranks, row.traffic);
    table.add_row({row.names,
                   found.busbw_gb_per_s ? fmt::format("{:.4g} GB/s", *found.busbw_gb_per_s) : "?",
                   found.derivation, first_links(found)});
    if (row.traffic == Traffic::ring)
      ring = std::move(found);
  }
  std::string text = fmt::format("Ceilings for {} ranks, one per GPU, root 0 (bus bandwidth as in "
                                 "nccl-tests, from the links' nominal rates):\n",
                                 ranks.size()) +
                     table.render();
  if (ring.in_switch_gb_per_s > ring.busbw_gb_per_s)
    text += fmt::format("all_reduce by NVSwitches that reduce (NVLS): {:.4g} GB/s at most\n",
                        *ring.in_switch_gb_per_s);
  text += domains_text(machine);
  if (ring.over_network && ring.busbw_gb_per_s)
    text += "note: assumes that the network ports of all hosts are on one network without a "
            "bottleneck of its own\n";
  if (ring.unknown.size() == 1)
    text += fmt::format("unknown: rate of {}: counted as unlimited\n", ring.unknown.front());
  else if (!ring.unknown.empty()) // for a matrix these are all pairs: too many to be useful
    text += fmt::format("unknown: rates of {} links, such as {}: counted as unlimited\n",
                        ring.unknown.size(), ring.unknown.front());
  return text;
}

std::string render_placement(const Machine& machine) {
  std::vector<RankBinding> placement = propose_placement(machine);
  std::string text = "Placement, one rank per GPU:\n";
  if (!placement.empty()) {
    base::TextTable table({{"rank"},
                           {"host"},
                           {"GPU"},
                           {"NUMA"},
                           {"CPUs", Align::left},
                           {"NIC", Align::left},
                           {"why", Align::left}});
    for (const RankBinding& rank : placement) {
      const Host& host = machine.hosts.at(rank.host);
      const Nic* nic = rank.nic ? host.nic(*rank.nic) : nullptr;
      table.add_row({std::to_string(rank.rank), std::to_string(rank.host), std::to_string(rank.gpu),
                     rank.numa_node ? std::to_string(*rank.numa_node) : "?",
                     rank.cpus.empty() ? "any" : base::format_number_list(rank.cpus),
                     nic ? nic_label(*nic) : "none", rank.reason});
    }
    text += table.render();
  }
  for (const std::string& note : placement_notes(machine, placement))
    text += "note: " + note + "\n";
  for (const std::string& line : launch_options(machine, placement))
    text += line + "\n";
  return text;
}

} // namespace ncclprobe::topology
