// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/derive.h"

#include "topology/gpu_board.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace ncclprobe::topology {

namespace {

// Domains of more than four digits come last.
auto bus_order(const std::string& bus_id) {
  return std::tuple(bus_id.size(), bus_id);
}

constexpr std::uint32_t k_amazon = 0x1d0f;

} // namespace

void number_gpus(Host& host) {
  std::set<int> taken;
  for (const Gpu& gpu : host.gpus)
    taken.insert(gpu.index);
  std::ranges::stable_sort(host.gpus, {},
                           [](const Gpu& gpu) { return bus_order(gpu.bus_id.value_or("")); });
  int next = 0;
  for (Gpu& gpu : host.gpus) {
    if (gpu.index >= 0)
      continue;
    while (taken.contains(next))
      ++next;
    gpu.index = next++;
  }
  std::ranges::sort(host.gpus, {}, &Gpu::index);
}

void add_unnamed_nics(Host& host) {
  int next = 0;
  std::set<std::string> known;
  for (const Nic& nic : host.nics) {
    next = std::max(next, nic.index + 1);
    if (nic.bus_id)
      known.insert(*nic.bus_id);
  }
  std::vector<Nic> found;
  for (const PciDevice& device : host.pci) {
    if (device.kind != PciKind::nic || known.contains(device.bus_id))
      continue;
    Nic nic;
    nic.bus_id = Fact<std::string>(device.bus_id, device.pci_class.source);
    nic.numa_node = device.numa_node;
    found.push_back(std::move(nic));
  }
  std::ranges::sort(found, {}, [](const Nic& nic) { return bus_order(*nic.bus_id); });
  for (Nic& nic : found) {
    nic.index = next++;
    host.nics.push_back(std::move(nic));
  }
  std::ranges::sort(host.nics, {}, &Nic::index);
}

void add_absent_nvlinks(Host& host) {
  for (Gpu& gpu : host.gpus) {
    GpuBoardSigns signs;
    signs.name = gpu.name.value_or("");
    if (const PciDevice* device = gpu.bus_id ? host.pci_device(*gpu.bus_id) : nullptr)
      signs.pci_device_id = device->device.value;
    if (!gpu.nvlinks && gpu_mounting(signs).never_has_nvlinks)
      gpu.nvlinks = Fact<std::vector<NvLink>>(std::vector<NvLink>{}, Source::derived);
  }
}

Fact<NicKind> nic_kind(const Host& host, const Nic& nic) {
  auto derived = [](NicKind kind) { return Fact<NicKind>(kind, Source::derived); };
  const PciDevice* device = nic.bus_id ? host.pci_device(*nic.bus_id) : nullptr;
  std::uint32_t sub_class = device ? device->pci_class.value_or(0) >> 8 : 0;
  bool efa = device && device->vendor.value == k_amazon && device->device.value_or(0) >> 4 == 0xefa;
  if (efa)
    return derived(NicKind::efa);
  if (sub_class == 0x0207)
    return derived(NicKind::infiniband);
  // An adapter of Ethernet's class that has an RDMA name.
  if (sub_class == 0x0200 && nic.name.starts_with("mlx"))
    return derived(NicKind::roce);
  if (nic.name.starts_with("eth") || nic.name.starts_with("en"))
    return derived(NicKind::ethernet);
  return {};
}

std::string nic_label(const Nic& nic) {
  return !nic.name.empty() ? nic.name : nic.bus_id.value_or("?");
}

std::string host_label(const Host& host, std::size_t position) {
  if (host.name)
    return *host.name;
  return host.id ? *host.id : std::to_string(position);
}

} // namespace ncclprobe::topology
