// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/placement.h"

#include "base/number_list.h"
#include "topology/cpu_shares.h"
#include "topology/derive.h"
#include "topology/paths.h"
#include "topology/pci_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ncclprobe::topology {
namespace {

std::optional<int> node_of(const Host& host, const Gpu& gpu) {
  Fact<int> node = gpu.numa_node;
  if (int place = pci_position(host, gpu.bus_id); place >= 0)
    node.fill_from(numa_of(host, place));
  return node.value;
}

// Whether a list has all CPUs of several NUMA nodes: then the near node is unknown.
bool spans_nodes(const Host& host, const std::vector<int>& cpus) {
  std::set<int> list(cpus.begin(), cpus.end());
  return std::ranges::count_if(host.numa, [&](const NumaNode& node) {
           return node.cpus && !node.cpus->empty() &&
                  std::ranges::all_of(*node.cpus, [&](int cpu) { return list.contains(cpu); });
         }) > 1;
}

// The CPUs near a GPU, from the driver or from its NUMA node.
Fact<std::vector<int>> cpus_near(const Host& host, const Gpu& gpu) {
  auto node = node_of(host, gpu);
  if (gpu.cpu_affinity && (node || !spans_nodes(host, *gpu.cpu_affinity)))
    return gpu.cpu_affinity;
  const NumaNode* numa = node ? host.numa_node(*node) : nullptr;
  return numa ? numa->cpus : Fact<std::vector<int>>();
}

bool by_rdma(const Nic& nic) {
  return nic.kind && *nic.kind != NicKind::ethernet && *nic.kind != NicKind::other;
}

struct NearNic {
  int index = 0;
  std::string label;
  FoundPath path;
};

// The nearest that is not down; RDMA before sockets; among equals the fastest, then the one with
// the fewest ranks.
std::optional<NearNic> nearest_nic(const Host& host, int gpu,
                                   const std::map<int, int>& ranks_of_nic) {
  std::optional<NearNic> best;
  std::tuple<bool, bool, PathType, double, int> best_key;
  for (const Nic& nic : host.nics) {
    if (!nic.up.value_or(true))
      continue;
    FoundPath found = path_between(host, {DeviceKind::gpu, gpu}, {DeviceKind::nic, nic.index});
    PathType type = found.path.type;
    auto used = ranks_of_nic.find(nic.index);
    std::tuple key{!by_rdma(nic), type == PathType::unknown, type, -nic.gbit_per_s.value_or(0),
                   used == ranks_of_nic.end() ? 0 : used->second};
    if (best && best_key <= key)
      continue;
    best = {nic.index, nic_label(nic), std::move(found)};
    best_key = key;
  }
  return best;
}

std::string whose_cpus(const Host& host, const Gpu& gpu, const Fact<std::vector<int>>& cpus) {
  if (auto node = node_of(host, gpu))
    return fmt::format("its GPU is on NUMA node {}", *node);
  if (gpu.near_numa_nodes && cpus)
    return fmt::format("its GPU is near NUMA nodes {}",
                       base::format_number_list(*gpu.near_numa_nodes));
  if (cpus)
    return fmt::format("its GPU's NUMA node is unknown, its CPUs come from {}",
                       to_string(cpus.source));
  return "its GPU's NUMA node is unknown: not bound";
}

std::string reason_for(const Host& host, const Gpu& gpu, const Fact<std::vector<int>>& cpus,
                       std::size_t sharers, const std::optional<NearNic>& nic) {
  std::string reason = whose_cpus(host, gpu, cpus);
  if (cpus && sharers > 1)
    reason += fmt::format(", which {} ranks share", sharers);
  if (nic && nic->path.path.type != PathType::unknown)
    reason += fmt::format("; {} is nearest ({})", nic->label, nic->path.text());
  else if (nic)
    reason += fmt::format("; the distance of {} is unknown", nic->label);
  return reason;
}

const Host& host_at(const Machine& machine, int host) {
  return machine.hosts.at(host);
}

// Mask of CPUs in srun's syntax: "0xff0f".
std::string mask_of(const std::vector<int>& cpus) {
  std::string digits;
  std::set<int> set(cpus.begin(), cpus.end());
  for (int digit = 0; digit <= *set.rbegin() / 4; ++digit) {
    int value = 0;
    for (int bit = 0; bit < 4; ++bit)
      value |= static_cast<int>(set.contains(4 * digit + bit)) << bit;
    digits.insert(digits.begin(), "0123456789abcdef"[value]);
  }
  return "0x" + digits;
}

std::vector<RankBinding> on_host(const std::vector<RankBinding>& placement, int host) {
  std::vector<RankBinding> ranks;
  std::ranges::copy_if(placement, std::back_inserter(ranks),
                       [&](const RankBinding& rank) { return rank.host == host; });
  return ranks;
}

bool share_cores(const std::vector<RankBinding>& ranks, const Cores& cores) {
  std::size_t of_ranks = 0;
  std::vector<int> all;
  for (const RankBinding& rank : ranks) {
    of_ranks += count_cores(rank.cpus, cores);
    all.insert(all.end(), rank.cpus.begin(), rank.cpus.end());
  }
  return of_ranks > count_cores(all, cores);
}

bool all_bound(const std::vector<RankBinding>& ranks) {
  return std::ranges::none_of(ranks, [](const RankBinding& rank) { return rank.cpus.empty(); });
}

std::string visible_devices(const std::vector<RankBinding>& ranks) {
  std::string list;
  for (const RankBinding& rank : ranks)
    list += fmt::format("{}{}", list.empty() ? "" : ",", rank.gpu);
  return "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=" + list;
}

std::string srun_binding(const std::vector<RankBinding>& ranks) {
  std::string masks;
  for (const RankBinding& rank : ranks)
    masks += (masks.empty() ? "" : ",") + mask_of(rank.cpus);
  return "--cpu-bind=mask_cpu:" + masks;
}

// mpirun's name for each host. With several hosts, those without a name (or all, if two have the
// same) get placeholders: HOST0, HOST1.
struct HostNames {
  std::vector<std::string> names;
  bool stand_ins = false;
};

HostNames names_of_hosts(const Machine& machine) {
  if (machine.hosts.size() == 1)
    return {{machine.hosts.front().name.value_or("localhost")}};
  std::set<std::string> different;
  bool same = false;
  for (const Host& host : machine.hosts)
    same = same || (host.name && !different.insert(*host.name).second);
  HostNames found;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    const Host& host = machine.hosts[i];
    bool named = host.name && !same;
    found.names.push_back(named ? *host.name : fmt::format("HOST{}", i));
    found.stand_ins = found.stand_ins || !named;
  }
  return found;
}

} // namespace

std::vector<RankBinding> propose_placement(const Machine& machine) {
  std::vector<RankBinding> placement;
  for (std::size_t number = 0; number < machine.hosts.size(); ++number) {
    const Host& host = machine.hosts[number];
    std::map<std::vector<int>, std::size_t> sharers;
    for (const Gpu& gpu : host.gpus)
      ++sharers[cpus_near(host, gpu).value_or({})];
    std::map<std::vector<int>, std::size_t> placed;
    std::map<int, int> ranks_of_nic;
    for (const Gpu& gpu : host.gpus) {
      RankBinding rank;
      rank.rank = static_cast<int>(placement.size());
      rank.host = static_cast<int>(number);
      rank.gpu = gpu.index;
      rank.numa_node = node_of(host, gpu);
      Fact<std::vector<int>> near = cpus_near(host, gpu);
      std::vector<int> cpus = near.value_or({});
      rank.cpus = share_cpus(cpus, host.cpu.cores.value, sharers[cpus])[placed[cpus]++];
      auto nic = nearest_nic(host, gpu.index, ranks_of_nic);
      if (nic) {
        rank.nic = nic->index;
        ++ranks_of_nic[nic->index];
      }
      rank.reason = reason_for(host, gpu, near, sharers[cpus], nic);
      placement.push_back(std::move(rank));
    }
  }
  return placement;
}

std::vector<std::string> placement_notes(const Machine& machine,
                                         const std::vector<RankBinding>& placement) {
  std::vector<std::string> notes;
  for (std::size_t number = 0; number < machine.hosts.size(); ++number) {
    const Host& host = machine.hosts[number];
    auto ranks = on_host(placement, static_cast<int>(number));
    std::string where = machine.hosts.size() > 1 ? fmt::format("host {}: ", number) : "";
    bool several_bound = std::ranges::count_if(
                             ranks, [](const RankBinding& rank) { return !rank.cpus.empty(); }) > 1;
    if (several_bound && !host.cpu.cores)
      notes.push_back(where + "it is unknown which CPUs are hyperthreads of one core: two ranks "
                              "may share a core");
    else if (several_bound && share_cores(ranks, *host.cpu.cores))
      notes.push_back(where + "there are fewer cores than ranks: some ranks share a core");
  }
  return notes;
}

std::vector<std::string> launch_options(const Machine& machine,
                                        const std::vector<RankBinding>& placement) {
  if (placement.empty())
    return {"# no GPU: nothing to place"};
  std::vector<std::string> lines;
  std::set<std::string> visible;
  std::set<std::string> srun;
  std::size_t most = 0;
  for (std::size_t host = 0; host < machine.hosts.size(); ++host) {
    auto ranks = on_host(placement, static_cast<int>(host));
    if (ranks.empty())
      continue;
    most = std::max(most, ranks.size());
    visible.insert(visible_devices(ranks));
    if (all_bound(ranks))
      srun.insert(srun_binding(ranks));
  }
  if (visible.size() == 1)
    lines.push_back(*visible.begin());
  else
    lines.push_back("# the hosts number their GPUs differently: set CUDA_VISIBLE_DEVICES on each");
  if (!all_bound(placement)) {
    lines.push_back("# the CPUs near some GPUs are unknown: binding ranks could slow them down");
    lines.push_back(fmt::format("mpirun -np {} --bind-to none ...", placement.size()));
    lines.push_back(fmt::format("srun --ntasks-per-node={} --cpu-bind=none ...", most));
    return lines;
  }
  const HostNames hosts = names_of_hosts(machine);
  if (hosts.stand_ins)
    lines.push_back("# HOST0, HOST1, ...: replace these by the names of your hosts, in this order");
  lines.push_back("cat > ranks.txt <<END");
  for (const RankBinding& rank : placement)
    lines.push_back(fmt::format("rank {}={} slot={}", rank.rank, hosts.names.at(rank.host),
                                base::format_number_list(rank.cpus)));
  lines.push_back("END");
  lines.push_back(fmt::format(
      "mpirun -np {} --mca rmaps_rank_file_physical 1 --rankfile ranks.txt ...", placement.size()));
  if (srun.size() == 1)
    lines.push_back(fmt::format("srun --ntasks-per-node={} {} ...", most, *srun.begin()));
  else
    lines.push_back(
        "# srun: the hosts need different CPU masks; bind with --cpu-bind=sockets there");
  return lines;
}

std::vector<std::string> misplaced(const Machine& machine, const std::vector<RankLocation>& ranks) {
  std::vector<std::string> warnings;
  for (const RankLocation& one : ranks) {
    const Host& host = host_at(machine, one.host);
    const Gpu* gpu = host.gpu(one.gpu);
    auto node = gpu ? node_of(host, *gpu) : std::nullopt;
    std::vector<int> near = gpu ? cpus_near(host, *gpu).value_or({}) : std::vector<int>{};
    bool away =
        std::ranges::none_of(one.cpus, [&](int cpu) { return std::ranges::count(near, cpu) > 0; });
    if (near.empty() || one.cpus.empty() || !away)
      continue;
    std::string nodes;
    for (const NumaNode& numa : host.numa)
      if (std::ranges::any_of(one.cpus, [&](int cpu) {
            return numa.cpus && std::ranges::count(*numa.cpus, cpu) > 0;
          }))
        nodes += fmt::format("{}{}", nodes.empty() ? " of NUMA node " : ", ", numa.index);
    warnings.push_back(
        fmt::format("rank {} drives GPU {} ({}CPUs {}) from CPUs {}{}: every launch and every copy "
                    "through the host crosses NUMA nodes",
                    one.rank, one.gpu, node ? fmt::format("NUMA node {}, ", *node) : "",
                    base::format_number_list(near), base::format_number_list(one.cpus), nodes));
  }
  return warnings;
}

} // namespace ncclprobe::topology
