// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/pci_tree.h"

#include <algorithm>

namespace ncclprobe::topology {

namespace {

const PciDevice& at(const Host& host, int device) {
  return host.pci[device];
}

bool shows_ports(const Host& host) {
  return host.pci_detail.value == PciDetail::ports;
}

} // namespace

int pci_position(const Host& host, const Fact<std::string>& bus_id) {
  const PciDevice* device = bus_id ? host.pci_device(*bus_id) : nullptr;
  return device ? static_cast<int>(device - host.pci.data()) : -1;
}

std::vector<int> way_up(const Host& host, int device) {
  std::vector<int> path;
  for (; device >= 0; device = at(host, device).parent)
    path.push_back(device);
  return path;
}

LowestCommonAncestor lowest_common_ancestor(const Host& host, int a, int b) {
  std::vector<int> up_a = way_up(host, a);
  std::vector<int> up_b = way_up(host, b);
  LowestCommonAncestor ancestor;
  while (!up_a.empty() && !up_b.empty() && up_a.back() == up_b.back()) {
    ancestor.common = up_a.back();
    up_a.pop_back();
    up_b.pop_back();
  }
  if (ancestor.common < 0)
    return ancestor;
  // Each path is reduced to the device itself and the bridges below the common one.
  auto further_switches = [&](const std::vector<int>& below) {
    auto bridges = std::max<std::size_t>(below.size(), 1) - 1;
    // The common switch's own lower port comes first; then two ports per switch.
    return static_cast<int>(shows_ports(host) ? bridges / 2 : bridges);
  };
  ancestor.switches = 1 + further_switches(up_a) + further_switches(up_b);
  return ancestor;
}

int parent_switch(const Host& host, int device) {
  int parent = at(host, device).parent;
  if (parent < 0 || !shows_ports(host))
    return parent;
  return at(host, parent).parent;
}

Fact<int> numa_of(const Host& host, int device) {
  for (int above : way_up(host, device))
    if (at(host, above).numa_node)
      return at(host, above).numa_node;
  return {};
}

const Gpu* gpu_at(const Host& host, int device) {
  auto found = std::ranges::find_if(
      host.gpus, [&](const Gpu& gpu) { return gpu.bus_id.value == at(host, device).bus_id; });
  return found == host.gpus.end() ? nullptr : &*found;
}

SwitchTree switch_tree(const Host& host) {
  std::vector<bool> wanted(host.pci.size(), !shows_ports(host));
  for (std::size_t i = host.pci.size(); i-- > 0;) {
    PciKind kind = host.pci[i].kind;
    wanted[i] = wanted[i] || kind == PciKind::gpu || kind == PciKind::nic;
    int parent = parent_switch(host, static_cast<int>(i));
    if (wanted[i] && parent >= 0)
      wanted[parent] = true;
  }
  SwitchTree tree;
  for (std::size_t i = 0; i < host.pci.size(); ++i) {
    if (!wanted[i])
      continue;
    int device = static_cast<int>(i);
    if (int parent = parent_switch(host, device); parent >= 0) {
      tree.children[parent].push_back(device);
      continue;
    }
    Fact<int> numa = numa_of(host, device);
    if (const Gpu* gpu = gpu_at(host, device))
      numa.fill_from(gpu->numa_node);
    tree.roots[numa.value_or(k_unknown_numa)].push_back(device);
  }
  return tree;
}

Fact<std::string> host_bridge_of(const Host& host, int device) {
  for (int above : way_up(host, device))
    if (at(host, above).host_bridge)
      return at(host, above).host_bridge;
  return {};
}

} // namespace ncclprobe::topology
