// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/nccl_xml.h"

#include "topology/links.h"
#include "topology/pci_tree.h"
#include "topology/read/cpu_mask.h"
#include "topology/read/xml.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace ncclprobe::topology {

namespace {

// NCCL has its own parser (src/graph/xml.cc): no declaration, no entities, attributes in double
// quotes with one blank before each, at most 16 of them, and values of at most 254 bytes.
class Element {
public:
  Element(std::string& out, int level, std::string_view name) : out_(out), name_(name) {
    indent_ = std::string(static_cast<std::size_t>(level) * 2, ' ');
    out_ += indent_ + "<" + name_;
  }
  void attribute(std::string_view name, std::string_view value) {
    constexpr std::size_t k_most_bytes = 254;
    out_ += fmt::format(" {}=\"{}\"", name, attribute_text(value.substr(0, k_most_bytes)));
  }
  void attribute(std::string_view name, int value) { attribute(name, std::to_string(value)); }
  template <typename T>
  void attribute(std::string_view name, const Fact<T>& fact) {
    if (fact)
      attribute(name, *fact);
  }
  // Values that NCCL and its network plugins detect themselves: written only if they came from
  // NCCL.
  template <typename T>
  void if_of_nccl(std::string_view name, const Fact<T>& fact) {
    if (fact.source != Source::nccl)
      return;
    if constexpr (std::is_same_v<T, bool>)
      attribute(name, *fact ? 1 : 0);
    else if constexpr (std::is_same_v<T, double>)
      attribute(name, fmt::format("{}", *fact));
    else
      attribute(name, *fact);
  }
  void pci_id(std::string_view name, const Fact<std::uint32_t>& fact) {
    if (fact)
      attribute(name, fmt::format("0x{:04x}", *fact));
  }
  void end_without_children() { out_ += "/>\n"; }
  void begin_children() { out_ += ">\n"; }
  void end() { out_ += indent_ + "</" + name_ + ">\n"; }

private:
  std::string& out_;
  std::string name_;
  std::string indent_;
};

std::optional<int> sm_of(const Fact<std::string>& capability) {
  if (!capability)
    return std::nullopt;
  int major = 0;
  int minor = 0;
  const char* end = capability->data() + capability->size();
  auto [dot, error] = std::from_chars(capability->data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.' ||
      std::from_chars(dot + 1, end, minor).ec != std::errc() || major < 0 || major > 999 ||
      minor < 0 || minor > 9)
    return std::nullopt;
  return major * 10 + minor;
}

Fact<std::string> target_class(const NvLink& link) {
  if (!link.remote)
    return {};
  switch (*link.remote) {
  case RemoteKind::gpu:
    return {std::string("0x030200"), link.remote.source};
  case RemoteKind::nvswitch:
    return {std::string("0x068000"), link.remote.source};
  case RemoteKind::cpu:
    return {std::string("0x068001"), link.remote.source};
  }
  return {};
}

struct LinkTarget {
  std::string bus_id;
  Fact<std::string> pci_class;
  int count = 0;
};

// The number of links to each far end, in the order of the links.
std::vector<LinkTarget> link_targets(const Gpu& gpu) {
  std::vector<LinkTarget> targets;
  if (!gpu.nvlinks)
    return targets;
  for (const NvLink& link : *gpu.nvlinks) {
    if (!link.active.value_or(true))
      continue;
    // NCCL itself writes this for a switch that a virtual machine hides.
    std::string bus_id = link.remote_bus_id.value_or("fffffff:ff:ff.0");
    Fact<std::string> pci_class = target_class(link);
    auto known = std::ranges::find_if(targets, [&](const LinkTarget& target) {
      return target.bus_id == bus_id && target.pci_class == pci_class;
    });
    if (known == targets.end())
      known = targets.insert(targets.end(), {bus_id, pci_class, 0});
    ++known->count;
  }
  return targets;
}

// State for one host.
class HostWriter {
public:
  HostWriter(const Host& host, std::string& out)
      : host_(host), out_(out), tree_(switch_tree(host)) {
    place_what_is_in_no_tree();
  }

  void write() {
    std::set<int> numa_nodes;
    for (const NumaNode& node : host_.numa)
      numa_nodes.insert(node.index);
    for (const auto& [numa, devices] : tree_.roots)
      numa_nodes.insert(numa);
    for (const auto& [numa, devices] : lone_)
      numa_nodes.insert(numa);
    if (numa_nodes.empty())
      numa_nodes.insert(k_unknown_numa);
    for (int numa : numa_nodes)
      write_cpu(numa);
  }

private:
  struct Lone { // outside any PCI tree
    std::vector<const Gpu*> gpus;
    std::vector<const Nic*> nics;
  };

  void place_what_is_in_no_tree() {
    for (const Gpu& gpu : host_.gpus)
      if (pci_position(host_, gpu.bus_id) < 0)
        lone_[gpu.numa_node.value_or(k_unknown_numa)].gpus.push_back(&gpu);
    for (const Nic& nic : host_.nics)
      if (!nic.name.empty() && pci_position(host_, nic.bus_id) < 0)
        lone_[lone_nic_numa(nic)].nics.push_back(&nic);
  }

  // NCCL attaches devices outside PCI to the first CPU.
  int lone_nic_numa(const Nic& nic) const {
    if (nic.numa_node)
      return *nic.numa_node;
    return host_.numa.empty() ? k_unknown_numa : host_.numa.front().index;
  }

  void write_cpu(int numa) {
    Element cpu(out_, 1, "cpu");
    // A host's boot id is no hash; NCCL replaces it where it matters.
    if (host_.id.source == Source::nccl)
      cpu.attribute("host_hash", host_.id);
    // NCCL uses the same number as k_unknown_numa.
    cpu.attribute("numaid", numa);
    if (const NumaNode* node = host_.numa_node(numa); node && node->cpus)
      cpu.attribute("affinity", format_cpu_mask(*node->cpus));
    cpu.attribute("arch", host_.cpu.architecture);
    cpu.attribute("vendor", host_.cpu.vendor);
    cpu.attribute("familyid", host_.cpu.family);
    cpu.attribute("modelid", host_.cpu.model);
    const Lone& lone = lone_[numa];
    if (!tree_.roots.contains(numa) && lone.gpus.empty() && lone.nics.empty())
      return cpu.end_without_children();
    cpu.begin_children();
    for (int position : tree_.roots[numa])
      write_pci(position, 2);
    for (const Gpu* gpu : lone.gpus)
      write_lone_gpu(*gpu);
    if (!lone.nics.empty())
      write_nics(lone.nics, 2);
    cpu.end();
  }

  void write_pci(int position, int level) {
    const PciDevice& device = host_.pci[position];
    Element pci(out_, level, "pci");
    pci.attribute("busid", device.bus_id);
    if (device.pci_class)
      pci.attribute("class", fmt::format("0x{:06x}", *device.pci_class));
    pci.pci_id("vendor", device.vendor);
    pci.pci_id("device", device.device);
    pci.pci_id("subsystem_vendor", device.subsystem_vendor);
    pci.pci_id("subsystem_device", device.subsystem_device);
    const Gpu* gpu = gpu_at(host_, position);
    write_link(pci, pcie_rate(host_, static_cast<std::size_t>(position)), gpu != nullptr);
    std::vector<const Nic*> nics = nics_at(device.bus_id);
    const std::vector<int>& children = tree_.children[position];
    if (!gpu && nics.empty() && children.empty())
      return pci.end_without_children();
    pci.begin_children();
    if (gpu)
      write_gpu(*gpu, level + 1);
    if (!nics.empty())
      write_nics(nics, level + 1);
    for (int child : children)
      write_pci(child, level + 1);
    pci.end();
  }

  // NCCL rejects a device without these two. It detects missing values of a GPU, but not of other
  // devices in a file (virtual NICs have no link). "" and 0 are NCCL's own values for unknown.
  static void write_link(Element& pci, const PcieRate& rate, bool is_gpu) {
    if (rate.gt_per_s)
      pci.attribute("link_speed", fmt::format("{:.1f} GT/s PCIe", *rate.gt_per_s));
    else if (!is_gpu)
      pci.attribute("link_speed", "");
    if (rate.width)
      pci.attribute("link_width", *rate.width);
    else if (!is_gpu)
      pci.attribute("link_width", 0);
  }

  void write_lone_gpu(const Gpu& gpu) {
    Element pci(out_, 2, "pci");
    pci.attribute("busid", *gpu.bus_id);
    pci.attribute("class", "0x030200");
    pci.begin_children();
    write_gpu(gpu, 3);
    pci.end();
  }

  void write_gpu(const Gpu& gpu, int level) {
    Element element(out_, level, "gpu");
    element.attribute("dev", gpu.index);
    if (auto sm = sm_of(gpu.compute_capability))
      element.attribute("sm", *sm);
    element.if_of_nccl("rank", gpu.rank);
    element.if_of_nccl("gdr", gpu.gpudirect);
    auto targets = link_targets(gpu);
    if (targets.empty())
      return element.end_without_children();
    element.begin_children();
    for (const LinkTarget& target : targets) {
      Element link(out_, level + 1, "nvlink");
      link.attribute("target", target.bus_id);
      link.attribute("count", target.count);
      link.attribute("tclass", target.pci_class);
      link.end_without_children();
    }
    element.end();
  }

  void write_nics(const std::vector<const Nic*>& nics, int level) {
    Element element(out_, level, "nic");
    element.begin_children();
    for (const Nic* nic : nics) {
      Element net(out_, level + 1, "net");
      net.attribute("name", nic->name);
      net.attribute("dev", nic->index);
      net.if_of_nccl("latency", nic->latency_us);
      if (nic->gbit_per_s.source == Source::nccl)
        net.attribute("speed", static_cast<int>(std::lround(*nic->gbit_per_s * 1000)));
      net.if_of_nccl("port", nic->port);
      net.if_of_nccl("guid", nic->guid);
      net.if_of_nccl("maxconn", nic->most_connections);
      net.if_of_nccl("gdr", nic->gpudirect);
      net.end_without_children();
    }
    element.end();
  }

  // NICs without a name come from the PCI tree: NCCL finds them itself.
  std::vector<const Nic*> nics_at(const std::string& bus_id) const {
    std::vector<const Nic*> found;
    for (const Nic& nic : host_.nics)
      if (nic.bus_id.value == bus_id && !nic.name.empty())
        found.push_back(&nic);
    return found;
  }

  const Host& host_;
  std::string& out_;
  SwitchTree tree_;
  std::map<int, Lone> lone_; // by NUMA node
};

// Only NCCL's own hash distinguishes the hosts of one file. Without it, two hosts would become one
// with two GPUs of each number.
Result<void> check_that_hosts_stay_apart(const Machine& machine) {
  std::set<std::string> hashes;
  for (const Host& host : machine.hosts) {
    bool hashed = host.id && host.id.source == Source::nccl;
    if (machine.hosts.size() > 1 && (!hashed || !hashes.insert(*host.id).second))
      return fail(
          Error{Errc::invalid_argument,
                fmt::format("a topology for NCCL describes one host, but there are {}{}",
                            machine.hosts.size(), hashed ? ", two of them with the same hash" : ""),
                fmt::format("choose one with --host N, from 0 to {}", machine.hosts.size() - 1)});
  }
  return {};
}

} // namespace

Result<std::string> write_nccl_xml(const Machine& machine) {
  NCCLPROBE_TRY(check_that_hosts_stay_apart(machine));
  std::string out = "<system version=\"1\">\n";
  for (const Host& host : machine.hosts) {
    for (const Gpu& gpu : host.gpus)
      if (!gpu.bus_id)
        return fail(Errc::unsupported,
                    "the bus id of GPU {} is unknown; a topology for NCCL needs it", gpu.index);
    HostWriter(host, out).write();
  }
  return out + "</system>\n";
}

} // namespace ncclprobe::topology
