// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/bottleneck.h"

#include "base/number_list.h"
#include "knowledge/gpu_models.h"
#include "topology/derive.h"
#include "topology/flow.h"
#include "topology/links.h"
#include "topology/nvlink_domain.h"
#include "topology/paths.h"
#include "topology/pci_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace ncclprobe::topology {
namespace {

using Group = std::vector<bool>; // by rank: in or out

bool up(const NvLink& link) {
  return link.active.value_or(true);
}

const Gpu* gpu_of(const Machine& machine, const RankGpu& rank) {
  return machine.hosts.at(rank.host).gpu(rank.gpu);
}

// Whether NVLink connects all ranks, on any hosts.
bool in_one_domain(const Machine& machine, const std::vector<RankGpu>& ranks) {
  std::optional<NvlinkDomain> first;
  for (const RankGpu& rank : ranks) {
    const Gpu* gpu = gpu_of(machine, rank);
    auto domain = gpu ? nvlink_domain(*gpu) : std::nullopt;
    if (!domain || (first && *first != *domain))
      return false;
    first = domain;
  }
  return first.has_value();
}

// The machine's links as a flow network, and the groups of ranks that they suggest.
class LinkNetwork {
public:
  LinkNetwork(const Machine& machine, const std::vector<RankGpu>& ranks)
      : machine_(machine), ranks_(ranks) {
    for (const RankGpu& rank : ranks)
      point_of_rank_.push_back(gpu_point(rank.host, rank.gpu));
    std::set<int> hosts;
    for (const RankGpu& rank : ranks)
      hosts.insert(rank.host);
    over_network_ = hosts.size() > 1 && !in_one_domain(machine, ranks);
    for (int host : hosts)
      add_host(host);
    for (std::size_t i = 0; i < ranks.size(); ++i)
      suggest([&](std::size_t rank) { return rank == i; });
  }

  const std::set<Group>& groups() const { return groups_; }
  const std::set<std::string>& unknown() const { return unknown_; }
  // Missing facts about NVLinks; empty if none is missing.
  const std::string& untold() const { return untold_; }
  // Why the connection between hosts is unknown; empty if it is known, or there is one host.
  const std::string& unjoined() const { return unjoined_; }
  bool over_network() const { return over_network_; }

  FlowNetwork::Cut out_of(const Group& group) const {
    std::vector<int> inside;
    std::vector<int> outside;
    for (std::size_t i = 0; i < group.size(); ++i)
      (group[i] ? inside : outside).push_back(point_of_rank_[i]);
    return flow_.narrowest(inside, outside);
  }

private:
  using Key = std::pair<int, int>;

  int gpu_point(int host, int gpu) { return point(gpus_, {host, gpu}); }
  int point(std::map<Key, int>& points, Key key) {
    auto [found, is_new] = points.try_emplace(key, 0);
    if (is_new)
      found->second = flow_.add_point();
    return found->second;
  }

  // A group and its complement, unless one of them is empty.
  template <typename Inside>
  void suggest(Inside inside) {
    Group group(ranks_.size());
    for (std::size_t i = 0; i < group.size(); ++i)
      group[i] = inside(i);
    if (std::ranges::count(group, true) == 0 || std::ranges::count(group, false) == 0)
      return;
    groups_.insert(group);
    group.flip();
    groups_.insert(group);
  }

  void add_both(int a, int b, std::optional<double> gb_per_s, const std::string& label) {
    if (!gb_per_s)
      unknown_.insert(label);
    double capacity = gb_per_s.value_or(FlowNetwork::k_unlimited);
    flow_.add_link(a, b, capacity, label);
    flow_.add_link(b, a, capacity, label);
  }

  std::string on(int host) const { // names the host, if there are several
    return machine_.hosts.size() > 1 ? fmt::format(" of host {}", host) : "";
  }

  void add_host(int number) {
    const Host& host = machine_.hosts.at(number);
    suggest([&](std::size_t rank) { return ranks_[rank].host == number; });
    bool linked = add_nvlinks(number, host);
    // If NVLinks connect all GPUs of a host, NCCL uses no PCIe between them.
    if (!linked)
      add_pci(number, host, Direction::both);
    if (over_network_) {
      note_whether_joined(number, host);
      add_pci(number, host, Direction::out);
      add_pci(number, host, Direction::in);
    }
  }

  void note_whether_joined(int number, const Host& host) {
    bool any_up =
        std::ranges::any_of(host.nics, [](const Nic& nic) { return nic.up.value_or(true); });
    if (!any_up && unjoined_.empty())
      unjoined_ = fmt::format("unknown: no network port of host {} is {}", number,
                              host.nics.empty() ? "known" : "up");
  }

  std::vector<const Gpu*> taking_part(int number, const Host& host) const {
    std::vector<const Gpu*> gpus;
    for (const Gpu& gpu : host.gpus)
      if (std::ranges::find(ranks_, RankGpu{number, gpu.index}) != ranks_.end())
        gpus.push_back(&gpu);
    return gpus;
  }

  // True if NVLinks connect all participating GPUs of the host, or if they might.
  bool add_nvlinks(int number, const Host& host) {
    std::vector<const Gpu*> gpus = taking_part(number, host);
    std::vector<std::size_t> island(gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      island[i] = i;
      add_switch_links(number, *gpus[i]);
    }
    for (std::size_t i = 0; i < gpus.size(); ++i)
      for (std::size_t j = i + 1; j < gpus.size(); ++j) {
        Link link = link_between(host, *gpus[i], *gpus[j]);
        if (link == Link::none)
          continue;
        std::size_t from = island[j];
        std::ranges::replace(island, from, island[i]);
        if (link == Link::unknown)
          untold_ = gpus[i]->nvlinks || gpus[j]->nvlinks
                        ? "unknown: no source says where the NVLinks lead"
                        : "unknown: no source says whether there are NVLinks";
        if (link == Link::unknown)
          add_both(gpu_point(number, gpus[i]->index), gpu_point(number, gpus[j]->index), {},
                   untold_nvlinks(number, gpus));
        else if (!behind_switch(*gpus[i]) || !behind_switch(*gpus[j]))
          add_both(gpu_point(number, gpus[i]->index), gpu_point(number, gpus[j]->index),
                   ceiling(host, gpus[i]->index, gpus[j]->index).gb_per_s,
                   fmt::format("GPU {} to GPU {}{}: NVLink", gpus[i]->index, gpus[j]->index,
                               on(number)));
      }
    for (std::size_t i = 0; i < gpus.size(); ++i)
      suggest([&](std::size_t rank) {
        auto at = std::ranges::find(gpus, ranks_[rank].gpu, &Gpu::index);
        return ranks_[rank].host == number && at != gpus.end() &&
               island[at - gpus.begin()] == island[i];
      });
    return std::ranges::adjacent_find(island, std::not_equal_to{}) == island.end();
  }

  enum class Link { none, nvlink, unknown };

  // If no source describes NVLinks, or their far ends are unknown, they may be faster than PCIe.
  static Link link_between(const Host& host, const Gpu& a, const Gpu& b) {
    FoundPath found = path_between(host, {DeviceKind::gpu, a.index}, {DeviceKind::gpu, b.index});
    if (found.path.type == PathType::nvlink)
      return Link::nvlink;
    return nvlinks_untold(a, b, found) ? Link::unknown : Link::none;
  }

  std::string untold_nvlinks(int number, const std::vector<const Gpu*>& gpus) const {
    std::vector<int> indices;
    for (const Gpu* gpu : gpus)
      indices.push_back(gpu->index);
    return fmt::format("NVLinks of GPUs {}{}, if there are any: no source says where they lead",
                       base::format_number_list(indices), on(number));
  }

  static bool behind_switch(const Gpu& gpu) {
    return gpu.nvlinks && std::ranges::any_of(*gpu.nvlinks, [](const NvLink& link) {
             return up(link) && link.remote.value == RemoteKind::nvswitch;
           });
  }

  // All NVSwitches of a host, or of a domain of hosts, are one node: each GPU has links to each of
  // them.
  int switch_point(int number, const Gpu& gpu) {
    auto domain = nvlink_domain(gpu);
    if (!domain)
      return point(switches_, {number, 0});
    auto [found, is_new] = domains_.try_emplace(*domain, 0);
    if (is_new)
      found->second = flow_.add_point();
    return found->second;
  }

  void add_switch_links(int number, const Gpu& gpu) {
    if (nvlink_domain(gpu) && !gpu.nvlinks)
      add_both(gpu_point(number, gpu.index), switch_point(number, gpu), {},
               fmt::format("NVLinks of GPU {}{}", gpu.index, on(number)));
    if (!behind_switch(gpu))
      return;
    std::optional<double> sum = 0.0;
    int links = 0;
    for (const NvLink& link : *gpu.nvlinks) {
      if (!up(link) || link.remote.value != RemoteKind::nvswitch)
        continue;
      auto rate = nvlink_gb_per_s(gpu, link);
      sum = sum && rate ? std::optional(*sum + *rate) : std::nullopt;
      ++links;
    }
    add_both(gpu_point(number, gpu.index), switch_point(number, gpu), sum,
             fmt::format("GPU {}{} to NVSwitch: {} NVLinks", gpu.index, on(number), links));
  }

  // For traffic between hosts, separate one-way links connect GPUs and NICs, so traffic cannot
  // turn at a PCIe switch towards another GPU.
  enum class Direction { both, out, in };

  void add_pci(int number, const Host& host, Direction direction) {
    std::map<Key, int>& points = pci_[static_cast<std::size_t>(direction)];
    auto device_point = [&](int device) { return point(points, {number, device}); };
    int cpu = point(points, {number, -1});
    for (std::size_t i = 0; i < host.pci.size(); ++i) {
      auto device = static_cast<int>(i);
      int above = host.pci[i].parent < 0 ? cpu : device_point(host.pci[i].parent);
      PcieRate rate = pcie_rate(host, i);
      std::optional<double> gb_per_s;
      if (auto generation = rate.gt_per_s ? pcie_generation(*rate.gt_per_s) : std::nullopt;
          generation && rate.width)
        gb_per_s = knowledge::pcie_gb_per_s(*generation, *rate.width);
      add_both(device_point(device), above, gb_per_s,
               fmt::format("PCIe link of {}{}", host.pci[i].bus_id, on(number)));
      suggest([&](std::size_t rank) {
        const Gpu* gpu = host.gpu(ranks_[rank].gpu);
        return ranks_[rank].host == number && gpu && is_below(host, *gpu, device);
      });
    }
    for (const Gpu* gpu : taking_part(number, host)) {
      int place = pci_position(host, gpu->bus_id);
      int at = place < 0 ? cpu : device_point(place);
      std::string label = fmt::format("PCIe of GPU {}{}", gpu->index, on(number));
      std::optional<double> own = FlowNetwork::k_unlimited; // its device's link counts
      if (place < 0)
        own = host_ceiling(host, gpu->index).gb_per_s;
      if (!own)
        unknown_.insert(label);
      double capacity = own.value_or(FlowNetwork::k_unlimited);
      if (direction != Direction::in)
        flow_.add_link(gpu_point(number, gpu->index), at, capacity, label);
      if (direction != Direction::out)
        flow_.add_link(at, gpu_point(number, gpu->index), capacity, label);
    }
    if (direction != Direction::both)
      add_nics(number, host, direction, device_point, cpu);
  }

  template <typename DevicePoint>
  void add_nics(int number, const Host& host, Direction direction, DevicePoint device_point,
                int cpu) {
    int network = point(switches_, {-1, 0});
    for (const Nic& nic : host.nics) {
      if (!nic.up.value_or(true))
        continue;
      int place = pci_position(host, nic.bus_id);
      int at = place < 0 ? cpu : device_point(place);
      std::string label = fmt::format("network port {}{}", nic_label(nic), on(number));
      if (!nic.gbit_per_s)
        unknown_.insert(label);
      double capacity = nic.gbit_per_s ? *nic.gbit_per_s / 8 : FlowNetwork::k_unlimited;
      if (direction == Direction::out)
        flow_.add_link(at, network, capacity, label);
      else
        flow_.add_link(network, at, capacity, label);
    }
  }

  static bool is_below(const Host& host, const Gpu& gpu, int device) {
    int place = pci_position(host, gpu.bus_id);
    return place >= 0 && std::ranges::count(way_up(host, place), device) > 0;
  }

  const Machine& machine_;
  const std::vector<RankGpu>& ranks_;
  FlowNetwork flow_;
  std::map<Key, int> gpus_;
  std::map<Key, int> switches_;
  std::map<NvlinkDomain, int> domains_;
  std::map<Key, int> pci_[3];
  std::vector<int> point_of_rank_;
  std::set<Group> groups_;
  std::set<std::string> unknown_;
  std::string untold_;
  std::string unjoined_;
  bool over_network_ = false;
};

// busbw for the capacity out of a group, see the header; nothing if no data must leave the group.
std::optional<double> busbw_per_capacity(Traffic traffic, const Group& group) {
  auto n = static_cast<double>(group.size());
  auto k = static_cast<double>(std::ranges::count(group, true));
  bool with_root = group.front();
  switch (traffic) {
  case Traffic::ring:
    return 1;
  case Traffic::broadcast:
    return with_root ? std::optional(1.0) : std::nullopt;
  case Traffic::reduce:
    return with_root ? std::nullopt : std::optional(1.0);
  case Traffic::all_to_all:
    return (n - 1) / (k * (n - k));
  case Traffic::gather:
    return with_root ? std::nullopt : std::optional((n - 1) / k);
  case Traffic::scatter:
    return with_root ? std::optional((n - 1) / (n - k)) : std::nullopt;
  case Traffic::send_recv:
    break;
  }
  double leaving = 0;
  for (std::size_t i = 0; i < group.size(); ++i)
    if (group[i] && !group[(i + 1) % group.size()])
      ++leaving;
  return 1 / leaving;
}

std::string text_of(const Group& group) {
  std::vector<std::size_t> ranks;
  bool few = std::ranges::count(group, true) * 2 <= static_cast<std::ptrdiff_t>(group.size());
  std::string text;
  for (std::size_t i = 0; i < group.size(); ++i)
    if (group[i] == few)
      text += fmt::format("{}{}", text.empty() ? "" : ",", i);
  return (few ? "out of rank " : "into rank ") + text;
}

// Port of the weakest GPU of an NVSwitch that reduces.
std::optional<double> in_switch(const Machine& machine, const std::vector<RankGpu>& ranks) {
  std::optional<double> least;
  bool one_domain = in_one_domain(machine, ranks);
  for (const RankGpu& rank : ranks) {
    const Gpu* gpu = gpu_of(machine, rank);
    bool able = gpu && gpu->nvlinks && (one_domain || rank.host == ranks.front().host) &&
                std::atof(gpu->compute_capability.value_or("0").c_str()) >= 9.0;
    if (!able)
      return std::nullopt;
    double port = 0;
    for (const NvLink& link : *gpu->nvlinks)
      if (up(link) && link.remote.value == RemoteKind::nvswitch)
        port += nvlink_gb_per_s(*gpu, link).value_or(0);
    least = std::min(least.value_or(port), port);
  }
  if (!least || *least <= 0)
    return std::nullopt;
  auto n = static_cast<double>(ranks.size());
  return *least * 2 * (n - 1) / (n + 1);
}

} // namespace

Bottleneck bottleneck(const Machine& machine, const std::vector<RankGpu>& ranks, Traffic traffic) {
  Bottleneck found;
  if (ranks.size() < 2) {
    found.derivation = "one rank sends nothing";
    return found;
  }
  LinkNetwork network(machine, ranks);
  found.over_network = network.over_network();
  found.unknown.assign(network.unknown().begin(), network.unknown().end());
  if (!network.unjoined().empty()) {
    found.derivation = network.unjoined();
    return found;
  }
  for (const Group& group : network.groups()) {
    auto factor = busbw_per_capacity(traffic, group);
    if (!factor)
      continue;
    FlowNetwork::Cut cut = network.out_of(group);
    if (cut.capacity == FlowNetwork::k_unlimited)
      continue;
    double busbw = cut.capacity * *factor;
    if (found.busbw_gb_per_s && *found.busbw_gb_per_s <= busbw)
      continue;
    found.busbw_gb_per_s = busbw;
    found.links = std::move(cut.links);
    found.derivation = fmt::format("{:.4g} GB/s {}", cut.capacity, text_of(group));
  }
  if (!found.busbw_gb_per_s)
    found.derivation =
        network.untold().empty() ? "no link on the way has a known rate" : network.untold();
  if (traffic == Traffic::ring)
    found.in_switch_gb_per_s = in_switch(machine, ranks);
  return found;
}

std::vector<RankGpu> rank_per_gpu(const Machine& machine) {
  std::vector<RankGpu> ranks;
  for (std::size_t host = 0; host < machine.hosts.size(); ++host)
    for (const Gpu& gpu : machine.hosts[host].gpus)
      ranks.push_back({static_cast<int>(host), gpu.index});
  return ranks;
}

} // namespace ncclprobe::topology
