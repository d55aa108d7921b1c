// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/validate.h"

#include <set>

namespace ncclprobe::topology {

namespace {

// More than any machine has; a file that claims more is damaged or hostile.
constexpr std::size_t k_most_hosts = 4096;
constexpr std::size_t k_most_gpus = 128;
constexpr std::size_t k_most_nics = 1024;
constexpr std::size_t k_most_pci_devices = 4096;
constexpr std::size_t k_most_numa_nodes = 1024;
constexpr std::size_t k_most_links = 256;
constexpr std::size_t k_most_pairs = (k_most_gpus + k_most_nics) * (k_most_gpus + k_most_nics);
constexpr int k_most_cpus = 8192; // Linux's limit

// Ends the search; its text has no file name yet.
template <typename... Args>
Contradiction at(const std::string& element, fmt::format_string<Args...> text, Args&&... args) {
  return {fmt::format(text, std::forward<Args>(args)...), element};
}

using Found = std::optional<Contradiction>;

std::string element_of(const std::string& list, std::size_t position) {
  return fmt::format("{}/{}", list, position);
}

template <typename T>
Found check_size(const std::vector<T>& all, std::size_t most, const char* what,
                 const std::string& list) {
  if (all.size() > most)
    return at(list, "{} {}s; the limit is {}", all.size(), what, most);
  return std::nullopt;
}

template <typename T>
Found check_indexes(const std::vector<T>& all, std::size_t most, const char* what,
                    const std::string& list) {
  if (Found found = check_size(all, most, what, list))
    return found;
  std::set<int> seen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].index < 0)
      return at(element_of(list, i), "a {} has the number {}", what, all[i].index);
    if (!seen.insert(all[i].index).second)
      return at(element_of(list, i), "two {}s have the number {}", what, all[i].index);
  }
  return std::nullopt;
}

Found check_bus_id(const std::string& bus_id, const std::string& element) {
  if (normal_bus_id(bus_id) != bus_id)
    return at(element, "'{}' is not a PCI address like 0000:1b:00.0", bus_id);
  return std::nullopt;
}

Found check_cpus(const Fact<std::vector<int>>& cpus, const std::string& element) {
  if (!cpus)
    return std::nullopt;
  if (cpus->size() > k_most_cpus)
    return at(element, "a list of {} CPUs; the limit is {}", cpus->size(), k_most_cpus);
  for (int cpu : *cpus)
    if (cpu < 0 || cpu >= k_most_cpus)
      return at(element, "there is no CPU {}", cpu);
  return std::nullopt;
}

Found check_gpus(const Host& host, const std::string& where) {
  std::string list = where + "/gpus";
  if (Found found = check_indexes(host.gpus, k_most_gpus, "GPU", list))
    return found;
  std::set<std::string> bus_ids;
  for (std::size_t i = 0; i < host.gpus.size(); ++i) {
    const Gpu& gpu = host.gpus[i];
    std::string element = element_of(list, i);
    if (Found found = gpu.bus_id ? check_bus_id(*gpu.bus_id, element) : std::nullopt)
      return found;
    if (gpu.bus_id && !bus_ids.insert(*gpu.bus_id).second)
      return at(element, "two GPUs have the bus id {}", *gpu.bus_id);
    if (Found found = check_cpus(gpu.cpu_affinity, element))
      return found;
    if (gpu.nvlinks && gpu.nvlinks->size() > k_most_links)
      return at(element, "GPU {} has {} NVLinks; the limit is {}", gpu.index, gpu.nvlinks->size(),
                k_most_links);
  }
  return std::nullopt;
}

Found check_pci(const Host& host, const std::string& where) {
  std::string list = where + "/pci";
  if (Found found = check_size(host.pci, k_most_pci_devices, "PCI device", list))
    return found;
  std::set<std::string> bus_ids;
  for (std::size_t i = 0; i < host.pci.size(); ++i) {
    const PciDevice& device = host.pci[i];
    std::string element = element_of(list, i);
    if (Found found = check_bus_id(device.bus_id, element))
      return found;
    if (!bus_ids.insert(device.bus_id).second)
      return at(element, "two PCI devices have the bus id {}", device.bus_id);
    if (device.parent < -1 || device.parent >= static_cast<int>(i))
      return at(element, "PCI device {} has parent {}, which is not before it", device.bus_id,
                device.parent);
  }
  return std::nullopt;
}

Found check_pairs(const Host& host, const std::string& where) {
  std::string p2p = where + "/p2p";
  if (Found found = check_size(host.p2p, k_most_pairs, "P2P pair", p2p))
    return found;
  for (std::size_t i = 0; i < host.p2p.size(); ++i)
    if (!host.gpu(host.p2p[i].from) || !host.gpu(host.p2p[i].to))
      return at(element_of(p2p, i), "P2P between GPUs {} and {}, which do not exist",
                host.p2p[i].from, host.p2p[i].to);
  std::string paths = where + "/stated_paths";
  if (Found found = check_size(host.stated_paths, k_most_pairs, "path", paths))
    return found;
  auto exists = [&](const DeviceRef& ref) {
    return ref.kind == DeviceKind::gpu ? host.gpu(ref.index) != nullptr
                                       : host.nic(ref.index) != nullptr;
  };
  for (std::size_t i = 0; i < host.stated_paths.size(); ++i) {
    const StatedPath& stated = host.stated_paths[i];
    if (!exists(stated.a) || !exists(stated.b))
      return at(element_of(paths, i), "a path between {} {} and {} {}, which do not exist",
                to_string(stated.a.kind), stated.a.index, to_string(stated.b.kind), stated.b.index);
  }
  return std::nullopt;
}

Found check_numa(const Host& host, const std::string& where) {
  std::string list = where + "/numa";
  if (Found found = check_indexes(host.numa, k_most_numa_nodes, "NUMA node", list))
    return found;
  for (std::size_t i = 0; i < host.numa.size(); ++i)
    if (Found found = check_cpus(host.numa[i].cpus, element_of(list, i)))
      return found;
  return std::nullopt;
}

Found check_cores(const Host& host, const std::string& where) {
  std::string element = where + "/cpu";
  if (!host.cpu.cores)
    return std::nullopt;
  if (Found found = check_size(*host.cpu.cores, k_most_cpus, "core", element))
    return found;
  for (const std::vector<int>& core : *host.cpu.cores)
    if (Found found = check_cpus({core, host.cpu.cores.source}, element))
      return found;
  return std::nullopt;
}

Found check_nics(const Host& host, const std::string& where) {
  std::string list = where + "/nics";
  return check_indexes(host.nics, k_most_nics, "NIC", list);
}

} // namespace

Found contradiction_in(const Machine& machine) {
  if (Found found = check_size(machine.hosts, k_most_hosts, "host", "/hosts"))
    return found;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i)
    for (auto check : {check_cores, check_numa, check_nics, check_gpus, check_pci, check_pairs})
      if (Found found = check(machine.hosts[i], element_of("/hosts", i)))
        return found;
  return std::nullopt;
}

Result<void> validate(const Machine& machine, const std::string& name) {
  if (Found found = contradiction_in(machine))
    return fail(Errc::invalid_argument, "{}:1: {}", name, found->text);
  return {};
}

Result<Machine> machine_of(Host host, const std::string& name) {
  Machine machine;
  machine.hosts.push_back(std::move(host));
  NCCLPROBE_TRY(validate(machine, name));
  return machine;
}

} // namespace ncclprobe::topology
