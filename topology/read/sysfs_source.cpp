// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/sysfs_source.h"

#include "base/number_list.h"
#include "base/text_files.h"
#include "topology/links.h"

#include <algorithm>
#include <map>
#include <set>
#include <sys/utsname.h>

namespace ncclprobe::topology {
namespace {

namespace fs = std::filesystem;
using base::lines_of;
using base::names_in;
using base::number_of;
using base::text_of;
using base::words_of;

template <typename T>
Fact<T> told(std::optional<T> value) {
  return {std::move(value), Source::sysfs};
}

// If a link is down or hidden, its speed and width are "Unknown", 0, 63 or 255.
std::optional<int> width_of(const fs::path& file) {
  auto width = number_of<int>(text_of(file));
  return width && *width > 0 && *width <= 32 ? width : std::nullopt;
}

std::optional<double> gt_per_s_of(const fs::path& file) { // "16.0 GT/s PCIe"
  std::string text = text_of(file);
  auto speed = number_of<double>(text.substr(0, text.find(' ')));
  return speed && *speed > 0 ? speed : std::nullopt;
}

std::optional<int> numa_node_of(const fs::path& device) {
  auto node = number_of<int>(text_of(device / "numa_node"));
  return node && *node >= 0 ? node : std::nullopt; // -1: the firmware does not say
}

std::optional<std::uint32_t> hex_of(const fs::path& file) { // "0x030200"
  std::string text = text_of(file);
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  if (!text.starts_with("0x") || std::from_chars(text.data() + 2, end, value, 16).ptr != end)
    return std::nullopt;
  return value;
}

std::optional<std::vector<int>> list_of(const fs::path& file) {
  std::vector<int> numbers = base::parse_number_list(text_of(file));
  return numbers.empty() ? std::nullopt : std::optional(std::move(numbers));
}

// The far end of a symbolic link.
std::optional<fs::path> target_of(const fs::path& link) {
  std::error_code error;
  fs::path target = fs::canonical(link, error);
  return error ? std::nullopt : std::optional(target);
}

constexpr std::uint32_t k_nvidia = 0x10de;

// Files of a device in which we are interested.
PciKind kind_of_device(const fs::path& device) {
  PciKind kind = kind_of_pci_class(hex_of(device / "class").value_or(0));
  bool of_nvidia = hex_of(device / "vendor") == k_nvidia;
  if ((kind == PciKind::gpu || kind == PciKind::nvswitch) && !of_nvidia)
    return PciKind::other; // a server's console; another vendor's bridge
  return kind;
}

// The PCI devices on a canonical path below /sys/devices, from the root down.
std::vector<fs::path> pci_chain(const fs::path& canonical) {
  std::vector<fs::path> chain;
  fs::path at;
  for (const fs::path& part : canonical) {
    at /= part;
    if (auto bus_id = normal_bus_id(part.string()); bus_id && *bus_id == part.string())
      chain.push_back(at);
  }
  return chain;
}

// "0000:16" of ".../pci0000:16/..."
std::optional<std::string> host_bridge_of(const fs::path& canonical) {
  for (const fs::path& part : canonical)
    if (std::string name = part.string();
        name.starts_with("pci") && name.find(':') != std::string::npos)
      return name.substr(3);
  return std::nullopt;
}

PciDevice describe_pci(const fs::path& device, PciKind kind) {
  PciDevice out;
  out.bus_id = device.filename().string();
  out.kind = kind;
  out.pci_class = told(hex_of(device / "class"));
  out.vendor = told(hex_of(device / "vendor"));
  out.device = told(hex_of(device / "device"));
  out.subsystem_vendor = told(hex_of(device / "subsystem_vendor"));
  out.subsystem_device = told(hex_of(device / "subsystem_device"));
  out.gt_per_s = told(gt_per_s_of(device / "current_link_speed"));
  out.gt_per_s_max = told(gt_per_s_of(device / "max_link_speed"));
  out.width = told(width_of(device / "current_link_width"));
  out.width_max = told(width_of(device / "max_link_width"));
  out.numa_node = told(numa_node_of(device));
  out.host_bridge = told(host_bridge_of(device));
  return out;
}

// Adds a device and its parents; returns its position in host.pci, -1 without parents.
int add_chain(const fs::path& canonical, Host& host) {
  int parent = -1;
  for (const fs::path& device : pci_chain(canonical)) {
    std::string bus_id = device.filename().string();
    auto known = std::ranges::find(host.pci, bus_id, &PciDevice::bus_id);
    if (known == host.pci.end()) {
      PciDevice added = describe_pci(device, kind_of_device(device));
      added.parent = parent;
      host.pci.push_back(std::move(added));
      known = host.pci.end() - 1;
    }
    parent = static_cast<int>(known - host.pci.begin());
  }
  return parent;
}

std::optional<int> smaller(std::optional<int> a, std::optional<int> b) {
  return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
}

std::optional<int> generation_of(const Fact<double>& gt_per_s) {
  return gt_per_s ? pcie_generation(*gt_per_s) : std::nullopt;
}

void add_gpu(const fs::path& canonical, Host& host) {
  int position = add_chain(canonical, host);
  if (position < 0)
    return;
  const PciDevice& device = host.pci[position];
  Gpu gpu;
  gpu.index = static_cast<int>(host.gpus.size());
  gpu.bus_id = told(std::optional(device.bus_id));
  gpu.numa_node = device.numa_node;
  if (device.numa_node) // otherwise the list just contains every CPU
    gpu.cpu_affinity = told(list_of(canonical / "local_cpulist"));
  gpu.pcie.generation_now = told(generation_of(device.gt_per_s));
  gpu.pcie.generation_gpu_max = told(generation_of(device.gt_per_s_max));
  gpu.pcie.width_now = device.width;
  gpu.pcie.width_gpu_max = device.width_max;
  if (device.parent >= 0) {
    const PciDevice& port = host.pci[device.parent];
    gpu.pcie.generation_slot_max =
        told(smaller(gpu.pcie.generation_gpu_max.value, generation_of(port.gt_per_s_max)));
    gpu.pcie.width_slot_max = told(smaller(device.width_max.value, port.width_max.value));
  }
  host.gpus.push_back(std::move(gpu));
}

void add_devices(const fs::path& sys, Host& host) {
  for (const std::string& name : names_in(sys / "bus/pci/devices")) {
    fs::path link = sys / "bus/pci/devices" / name;
    auto canonical = target_of(link);
    if (!canonical)
      continue;
    PciKind kind = kind_of_device(*canonical);
    if (kind == PciKind::gpu)
      add_gpu(*canonical, host);
    else if (kind == PciKind::nvswitch || kind == PciKind::nic)
      add_chain(*canonical, host);
  }
  if (!host.pci.empty())
    host.pci_detail = told(std::optional(PciDetail::ports));
}

// The PCI device of a network interface or an RDMA device; some (virtio) have one of another kind
// in between.
void set_place(const fs::path& entry, Host& host, Nic& nic) {
  auto device = target_of(entry / "device");
  if (!device)
    return;
  int position = add_chain(*device, host);
  if (position < 0)
    return;
  PciDevice& pci = host.pci[position];
  if (pci.kind == PciKind::other)
    pci.kind = PciKind::nic; // of an uncommon class
  nic.bus_id = told(std::optional(pci.bus_id));
  nic.numa_node = pci.numa_node;
}

std::optional<std::string> guid_of(const fs::path& file) { // "506b:4b03:00cd:b0c2"
  std::string digits = text_of(file);
  std::erase(digits, ':');
  if (digits.size() != 16 || digits.find_first_not_of("0") == std::string::npos)
    return std::nullopt;
  return "0x" + digits;
}

// "400 Gb/sec (4X NDR)", "4: ACTIVE"
Nic describe_rdma_port(const fs::path& device, const std::string& port, bool peer_memory) {
  fs::path folder = device / "ports" / port;
  Nic nic;
  nic.name = device.filename().string();
  nic.port = told(number_of<int>(port));
  std::string layer = text_of(folder / "link_layer");
  if (nic.name.starts_with("efa"))
    nic.kind = told(std::optional(NicKind::efa));
  else if (layer == "InfiniBand")
    nic.kind = told(std::optional(NicKind::infiniband));
  else if (layer == "Ethernet")
    nic.kind = told(std::optional(NicKind::roce));
  if (std::string state = text_of(folder / "state"); !state.empty())
    nic.up = told(std::optional(state.find("ACTIVE") != std::string::npos));
  std::string rate = text_of(folder / "rate");
  nic.gbit_per_s = told(number_of<double>(rate.substr(0, rate.find(' '))));
  nic.guid = told(guid_of(device / "node_guid"));
  if (peer_memory)
    nic.gpudirect = told(std::optional(true)); // without the module, dma-buf may still work
  return nic;
}

void add_rdma(const fs::path& sys, Host& host) {
  bool peer_memory = false;
  for (const char* module : {"nvidia_peermem", "nv_peer_mem"}) {
    std::error_code error;
    peer_memory = peer_memory || fs::exists(sys / "module" / module, error);
  }
  for (const std::string& name : names_in(sys / "class/infiniband"))
    for (const std::string& port : names_in(sys / "class/infiniband" / name / "ports")) {
      fs::path device = sys / "class/infiniband" / name;
      Nic nic = describe_rdma_port(device, port, peer_memory);
      set_place(device, host, nic);
      host.nics.push_back(std::move(nic));
    }
}

void add_interfaces(const fs::path& sys, Host& host) {
  std::set<std::string> with_rdma;
  for (const Nic& nic : host.nics)
    if (nic.bus_id)
      with_rdma.insert(*nic.bus_id);
  constexpr int k_ethernet = 1; // ARPHRD_*
  for (const std::string& name : names_in(sys / "class/net")) {
    fs::path entry = sys / "class/net" / name;
    std::error_code error;
    // Excluded: loopback, tunnels, IP over InfiniBand, bridges and their members.
    if (number_of<int>(text_of(entry / "type")) != k_ethernet ||
        fs::exists(entry / "bridge", error) || fs::exists(entry / "brport", error))
      continue;
    Nic nic;
    nic.name = name;
    nic.kind = told(std::optional(NicKind::ethernet));
    std::string state = text_of(entry / "operstate");
    if (state == "up" || state == "down")
      nic.up = told(std::optional(state == "up"));
    if (auto mbit = number_of<double>(text_of(entry / "speed")); mbit && *mbit > 0)
      nic.gbit_per_s = {*mbit / 1000, Source::sysfs};
    nic.gpudirect = {false, Source::derived}; // sockets go through host memory
    set_place(entry, host, nic);
    if (!nic.bus_id && !nic.up.value_or(false))
      continue; // created by software, and unused
    if (!nic.bus_id || !with_rdma.contains(*nic.bus_id))
      host.nics.push_back(std::move(nic));
  }
}

// Memory of a node in bytes, of "Node 0 MemTotal:  527988212 kB".
std::optional<std::uint64_t> memory_of(const fs::path& node) {
  std::string text = text_of(node / "meminfo");
  std::size_t at = text.find("MemTotal:");
  if (at == std::string::npos)
    return std::nullopt;
  at = text.find_first_not_of(' ', at + 9);
  if (at == std::string::npos)
    return std::nullopt;
  auto kilobytes = number_of<std::uint64_t>(text.substr(at, text.find(' ', at) - at));
  return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

std::optional<std::vector<int>> distances_of(const fs::path& node) { // "10 21"
  std::vector<int> distances;
  for (const std::string& word : words_of(text_of(node / "distance"))) {
    auto distance = number_of<int>(word);
    if (!distance)
      return std::nullopt;
    distances.push_back(*distance);
  }
  return distances.empty() ? std::nullopt : std::optional(distances);
}

void add_numa_nodes(const fs::path& sys, Host& host) {
  for (const std::string& name : names_in(sys / "devices/system/node")) {
    auto index = number_of<int>(name.starts_with("node") ? name.substr(4) : "");
    if (!index)
      continue;
    fs::path folder = sys / "devices/system/node" / name;
    NumaNode node;
    node.index = *index;
    node.cpus = told(list_of(folder / "cpulist"));
    node.memory_bytes = told(memory_of(folder));
    node.distances = told(distances_of(folder));
    host.numa.push_back(std::move(node));
  }
  std::ranges::sort(host.numa, {}, &NumaNode::index);
}

// The first processor's "name : value" lines.
std::map<std::string, std::string> first_processor(const fs::path& proc) {
  std::map<std::string, std::string> fields;
  for (const std::string& line : lines_of(proc / "cpuinfo")) {
    if (line.empty())
      break;
    std::size_t colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    std::size_t value = line.find_first_not_of(" \t", colon + 1);
    fields.emplace(std::move(name), value == std::string::npos ? "" : line.substr(value));
  }
  return fields;
}

// The first CPU often cannot be taken offline, and then has no such file.
bool is_online(const fs::path& cpu) {
  return text_of(cpu / "online") != "0";
}

// Each core as the hyperthreads that its CPUs name; nothing if one of them names none.
std::optional<std::vector<std::vector<int>>> cores_of(const fs::path& cpus) {
  std::set<std::vector<int>> cores;
  for (const std::string& name : names_in(cpus)) {
    if (!name.starts_with("cpu") || !number_of<int>(name.substr(3)) || !is_online(cpus / name))
      continue;
    auto core = list_of(cpus / name / "topology/thread_siblings_list");
    if (!core)
      return std::nullopt;
    cores.insert(std::move(*core));
  }
  if (cores.empty())
    return std::nullopt;
  return std::vector<std::vector<int>>(cores.begin(), cores.end());
}

void add_cpu(const fs::path& root, Host& host) {
  utsname system{};
  if (root == "/" && uname(&system) == 0)
    host.cpu.architecture = {std::string(system.machine), Source::sysfs};
  auto fields = first_processor(root / "proc");
  auto field = [&](const char* name) -> std::optional<std::string> {
    auto found = fields.find(name);
    return found == fields.end() || found->second.empty() ? std::nullopt
                                                          : std::optional(found->second);
  };
  host.cpu.vendor = told(field("vendor_id"));
  host.cpu.family = told(number_of<int>(field("cpu family").value_or("")));
  host.cpu.model = told(number_of<int>(field("model").value_or("")));
  host.cpu.name = told(field("model name"));
  if (auto flags = field("flags")) // on x86; other CPUs do not show whether there is a hypervisor
    host.virtual_machine = {std::ranges::count(words_of(*flags), "hypervisor") > 0, Source::sysfs};
  std::set<std::string> packages;
  for (const std::string& name : names_in(root / "sys/devices/system/cpu"))
    if (std::string package =
            text_of(root / "sys/devices/system/cpu" / name / "topology/physical_package_id");
        !package.empty() && package != "-1")
      packages.insert(package);
  if (!packages.empty())
    host.cpu.sockets = {static_cast<int>(packages.size()), Source::sysfs};
  host.cpu.cores = told(cores_of(root / "sys/devices/system/cpu"));
}

} // namespace

Host sysfs_topology(const fs::path& root) {
  Host host;
  if (auto boot_id = text_of(root / "proc/sys/kernel/random/boot_id"); !boot_id.empty())
    host.id = {boot_id, Source::sysfs};
  if (auto name = text_of(root / "proc/sys/kernel/hostname"); !name.empty())
    host.name = {name, Source::sysfs};
  add_cpu(root, host);
  add_numa_nodes(root / "sys", host);
  add_devices(root / "sys", host);
  add_rdma(root / "sys", host);
  add_interfaces(root / "sys", host);
  for (std::size_t i = 0; i < host.nics.size(); ++i)
    host.nics[i].index = static_cast<int>(i);
  return host;
}

} // namespace ncclprobe::topology
