// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/validate.h"

#include <set>

namespace ncclprobe::topology {

using base::Errc;
using base::fail;
using base::Result;

namespace {

// Far more than any machine has; a file that claims more is broken or hostile.
constexpr std::size_t k_most_devices = 4096;
constexpr std::size_t k_most_links = 256;
constexpr int k_most_cpus = 8192; // what Linux is built for

template <typename T>
Result<void> check_indexes(const std::vector<T>& all, const char* what, const std::string& where) {
  if (all.size() > k_most_devices)
    return fail(Errc::invalid_argument, "{}: {} {}s; at most {} are read", where, all.size(), what,
                k_most_devices);
  std::set<int> seen;
  for (const T& one : all) {
    if (one.index < 0)
      return fail(Errc::invalid_argument, "{}: {} has the number {}", where, what, one.index);
    if (!seen.insert(one.index).second)
      return fail(Errc::invalid_argument, "{}: two {}s have the number {}", where, what, one.index);
  }
  return {};
}

Result<void> check_bus_id(const std::string& bus_id, const std::string& where) {
  if (normal_bus_id(bus_id) != bus_id)
    return fail(Errc::invalid_argument, "{}: '{}' is not a PCI address like 0000:1b:00.0", where,
                bus_id);
  return {};
}

Result<void> check_cpus(const Fact<std::vector<int>>& cpus, const std::string& where) {
  if (cpus && cpus->size() > k_most_cpus)
    return fail(Errc::invalid_argument, "{}: a list of {} CPUs; at most {} are read", where,
                cpus->size(), k_most_cpus);
  if (cpus)
    for (int cpu : *cpus)
      if (cpu < 0 || cpu >= k_most_cpus)
        return fail(Errc::invalid_argument, "{}: there is no CPU {}", where, cpu);
  return {};
}

Result<void> check_gpus(const Host& host, const std::string& where) {
  NCCLPROBE_TRY(check_indexes(host.gpus, "GPU", where));
  std::set<std::string> bus_ids;
  for (const Gpu& gpu : host.gpus) {
    if (gpu.bus_id) {
      NCCLPROBE_TRY(check_bus_id(*gpu.bus_id, where));
      if (!bus_ids.insert(*gpu.bus_id).second)
        return fail(Errc::invalid_argument, "{}: two GPUs have the bus id {}", where, *gpu.bus_id);
    }
    NCCLPROBE_TRY(check_cpus(gpu.cpu_affinity, where));
    if (gpu.nvlinks && gpu.nvlinks->size() > k_most_links)
      return fail(Errc::invalid_argument, "{}: GPU {} has {} NVLinks; at most {} are read", where,
                  gpu.index, gpu.nvlinks->size(), k_most_links);
  }
  return {};
}

Result<void> check_pci(const Host& host, const std::string& where) {
  if (host.pci.size() > k_most_devices)
    return fail(Errc::invalid_argument, "{}: {} PCI devices; at most {} are read", where,
                host.pci.size(), k_most_devices);
  std::set<std::string> bus_ids;
  for (std::size_t i = 0; i < host.pci.size(); ++i) {
    const PciDevice& device = host.pci[i];
    NCCLPROBE_TRY(check_bus_id(device.bus_id, where));
    if (!bus_ids.insert(device.bus_id).second)
      return fail(Errc::invalid_argument, "{}: two PCI devices have the bus id {}", where,
                  device.bus_id);
    if (device.parent < -1 || device.parent >= static_cast<int>(i))
      return fail(Errc::invalid_argument, "{}: PCI device {} has parent {}, which is not before it",
                  where, device.bus_id, device.parent);
  }
  return {};
}

Result<void> check_pairs(const Host& host, const std::string& where) {
  for (const P2pCapability& pair : host.p2p)
    if (!host.gpu(pair.from) || !host.gpu(pair.to))
      return fail(Errc::invalid_argument, "{}: P2P between GPUs {} and {}, which are not there",
                  where, pair.from, pair.to);
  auto exists = [&](const DeviceRef& ref) {
    return ref.kind == DeviceKind::gpu ? host.gpu(ref.index) != nullptr
                                       : host.nic(ref.index) != nullptr;
  };
  for (const StatedPath& stated : host.stated_paths)
    if (!exists(stated.a) || !exists(stated.b))
      return fail(Errc::invalid_argument, "{}: a path between {} {} and {} {}, which are not there",
                  where, to_string(stated.a.kind), stated.a.index, to_string(stated.b.kind),
                  stated.b.index);
  return {};
}

} // namespace

Result<void> validate(const Machine& machine, const std::string& name) {
  if (machine.hosts.size() > k_most_devices)
    return fail(Errc::invalid_argument, "{}: {} hosts; at most {} are read", name,
                machine.hosts.size(), k_most_devices);
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    const Host& host = machine.hosts[i];
    std::string where =
        machine.hosts.size() == 1 ? name : name + ", host " + host.name.value_or(std::to_string(i));
    NCCLPROBE_TRY(check_indexes(host.numa, "NUMA node", where));
    for (const NumaNode& node : host.numa)
      NCCLPROBE_TRY(check_cpus(node.cpus, where));
    NCCLPROBE_TRY(check_indexes(host.nics, "NIC", where));
    NCCLPROBE_TRY(check_gpus(host, where));
    NCCLPROBE_TRY(check_pci(host, where));
    NCCLPROBE_TRY(check_pairs(host, where));
  }
  return {};
}

} // namespace ncclprobe::topology
