// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/outline.h"

#include "base/number_list.h"
#include "topology/derive.h"
#include "topology/links.h"
#include "topology/paths.h"
#include "topology/pci_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::topology {

namespace {

using Kind = OutlineNode::Kind;

std::string bytes_text(std::uint64_t bytes) {
  constexpr double k_gib = 1024.0 * 1024 * 1024;
  double gib = static_cast<double>(bytes) / k_gib;
  return gib < 10 ? fmt::format("{:.1f} GiB", gib) : fmt::format("{:.0f} GiB", gib);
}

std::string digits(double value) {
  return fmt::format("{:.6g}", value);
}

void add_if(std::vector<std::string>& details, const std::string& text) {
  if (!text.empty())
    details.push_back(text);
}

// "PCIe gen 5 x16", with the present value if it is lower.
std::string pcie_text(const Host& host, int pci, const Gpu* gpu) {
  PcieRate rate = pci >= 0 ? pcie_rate(host, static_cast<std::size_t>(pci)) : PcieRate{};
  std::optional<int> generation = rate.gt_per_s ? pcie_generation(*rate.gt_per_s) : std::nullopt;
  std::optional<int> width = rate.width;
  std::string now;
  if (gpu) {
    const PcieLink& link = gpu->pcie;
    if (!generation)
      generation =
          link.generation_slot_max ? link.generation_slot_max.value : link.generation_now.value;
    if (!width)
      width = link.width_now.value;
    auto full_width = link.width_gpu_max ? link.width_gpu_max : link.width_slot_max;
    if (full_width && width && *width < *full_width)
      now += fmt::format(", of x{}", *full_width);
    if (link.generation_gpu_max && generation && *generation < *link.generation_gpu_max)
      now += fmt::format(", of gen {}", *link.generation_gpu_max);
    if (link.generation_now && generation && *link.generation_now < *generation)
      now += fmt::format(", now gen {}", *link.generation_now);
  }
  if (!generation && !width)
    return "";
  return fmt::format("PCIe gen {} x{}{}", generation ? std::to_string(*generation) : "?",
                     width ? std::to_string(*width) : "?", now);
}

std::string nvlink_text(const Gpu& gpu) {
  auto links = active_nvlinks(gpu);
  if (!links || gpu.nvlinks->empty())
    return "";
  if (*links == 0)
    return fmt::format("{} NVLink{}, none up", gpu.nvlinks->size(),
                       gpu.nvlinks->size() == 1 ? "" : "s");
  std::optional<double> rate;
  for (const NvLink& link : *gpu.nvlinks)
    if (auto one = nvlink_gb_per_s(gpu, link); one && link.active.value_or(true))
      rate = rate ? std::min(*rate, *one) : *one;
  auto down = gpu.nvlinks->size() - static_cast<std::size_t>(*links);
  return fmt::format("{} NVLink{}{}{}", *links, *links == 1 ? "" : "s",
                     rate ? fmt::format(" x {} GB/s", digits(*rate)) : "",
                     down > 0 ? fmt::format(", {} down", down) : "");
}

OutlineNode gpu_node(const Host& host, const Gpu& gpu) {
  OutlineNode node{
      Kind::gpu, fmt::format("gpu{}", gpu.index), fmt::format("GPU{}", gpu.index), {}, {}};
  if (gpu.name)
    node.title += " " + *gpu.name;
  add_if(node.details, gpu.bus_id.value_or(""));
  if (gpu.compute_capability)
    node.details.push_back("compute " + *gpu.compute_capability);
  if (gpu.memory_bytes)
    node.details.push_back(bytes_text(*gpu.memory_bytes));
  add_if(node.details, pcie_text(host, pci_position(host, gpu.bus_id), &gpu));
  add_if(node.details, nvlink_text(gpu));
  if (gpu.ecc_now)
    node.details.push_back(*gpu.ecc_now ? "ECC on" : "ECC off");
  if (gpu.mig_now.value_or(false))
    node.details.push_back("MIG on");
  if (gpu.near_numa_nodes)
    node.details.push_back("near NUMA nodes " + base::format_number_list(*gpu.near_numa_nodes));
  if (gpu.fabric.state && *gpu.fabric.state != "not_supported")
    node.details.push_back("fabric " + *gpu.fabric.state);
  return node;
}

OutlineNode nic_node(const Nic& nic) {
  OutlineNode node{Kind::nic,
                   fmt::format("nic{}", nic.index),
                   fmt::format("NIC{} {}", nic.index, nic_label(nic)),
                   {},
                   {}};
  if (nic.bus_id && !nic.name.empty())
    node.details.push_back(*nic.bus_id);
  if (nic.kind)
    node.details.emplace_back(to_string(*nic.kind));
  if (nic.gbit_per_s)
    node.details.push_back(fmt::format("{} Gbit/s", digits(*nic.gbit_per_s)));
  if (nic.up && !*nic.up)
    node.details.emplace_back("down");
  if (nic.gpudirect)
    node.details.emplace_back(*nic.gpudirect ? "GPUDirect" : "no GPUDirect");
  return node;
}

class Builder {
public:
  explicit Builder(const Host& host) : host_(host), tree_(switch_tree(host)) {}

  std::vector<OutlineNode> numa_nodes() {
    place_what_is_in_no_tree();
    std::vector<OutlineNode> nodes;
    for (const NumaNode& numa : host_.numa)
      nodes.push_back(numa_node(numa.index));
    for (const auto& [index, roots] : tree_.roots)
      if (index >= 0 && !host_.numa_node(index))
        nodes.push_back(numa_node(index));
    if (tree_.roots.contains(k_unknown_numa))
      nodes.push_back(numa_node(k_unknown_numa));
    return nodes;
  }

private:
  void place_what_is_in_no_tree() {
    auto place_lone = [&](const auto& device, OutlineNode node) {
      if (pci_position(host_, device.bus_id) >= 0)
        return;
      int numa = device.numa_node.value_or(k_unknown_numa);
      lone_[numa].push_back(std::move(node));
      tree_.roots[numa];
    };
    for (const Gpu& gpu : host_.gpus)
      place_lone(gpu, gpu_node(host_, gpu));
    for (const Nic& nic : host_.nics)
      place_lone(nic, nic_node(nic));
  }

  std::vector<OutlineNode> leaves_of(const std::string& bus_id) const {
    std::vector<OutlineNode> leaves;
    for (const Gpu& gpu : host_.gpus)
      if (gpu.bus_id.value == bus_id)
        leaves.push_back(gpu_node(host_, gpu));
    for (const Nic& nic : host_.nics)
      if (nic.bus_id.value == bus_id)
        leaves.push_back(nic_node(nic));
    return leaves;
  }

  OutlineNode numa_node(int index) {
    OutlineNode node{
        Kind::numa, fmt::format("numa{}", index), fmt::format("NUMA node {}", index), {}, {}};
    if (index == k_unknown_numa) {
      node.id = "numa_unknown";
      node.title = "NUMA node unknown";
    }
    if (const NumaNode* numa = host_.numa_node(index)) {
      if (numa->cpus && !numa->cpus->empty())
        node.details.push_back("CPUs " + base::format_number_list(*numa->cpus));
      if (numa->memory_bytes)
        node.details.push_back(bytes_text(*numa->memory_bytes));
    }
    std::map<std::string, std::size_t> bridges; // name -> position in node.children
    for (int position : tree_.roots[index]) {
      Fact<std::string> bridge = host_bridge_of(host_, position);
      std::vector<OutlineNode>* below = &node.children;
      if (bridge) {
        auto [found, added] = bridges.emplace(*bridge, node.children.size());
        if (added)
          node.children.push_back(
              {Kind::host_bridge, "root" + *bridge, "host bridge " + *bridge, {}, {}});
        below = &node.children[found->second].children;
      }
      add_device(position, *below);
    }
    for (const OutlineNode& lone : lone_[index])
      node.children.push_back(lone);
    return node;
  }

  void add_device(int position, std::vector<OutlineNode>& siblings) {
    const PciDevice& device = host_.pci[position];
    std::vector<OutlineNode> leaves = leaves_of(device.bus_id);
    if (!leaves.empty()) {
      for (OutlineNode& leaf : leaves)
        siblings.push_back(std::move(leaf));
      return;
    }
    OutlineNode node{
        Kind::pci_switch, "pci" + device.bus_id, "PCIe switch " + device.bus_id, {}, {}};
    if (device.origin == PciOrigin::stand_in)
      node.title += " (stand-in)";
    else if (device.kind != PciKind::bridge)
      node.title = "PCI device " + device.bus_id;
    add_if(node.details, pcie_text(host_, position, nullptr));
    for (int child : tree_.children[position])
      add_device(child, node.children);
    siblings.push_back(std::move(node));
  }

  const Host& host_;
  SwitchTree tree_;
  std::map<int, std::vector<OutlineNode>> lone_; // in no PCI tree
};

// The source of the data shown.
class Sources {
public:
  template <typename... Facts>
  void add(const std::string& what, const Facts&... facts) {
    (add_one(what, facts.source), ...);
  }
  std::string text() const {
    std::string all;
    for (const auto& [what, sources] : found_) {
      std::string names;
      for (Source source : sources)
        names += (names.empty() ? "" : ", ") + std::string(to_string(source));
      all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", what, names);
    }
    return all;
  }

private:
  void add_one(const std::string& what, Source source) {
    if (source != Source::none)
      found_[what].insert(source);
  }
  std::map<std::string, std::set<Source>> found_;
};

std::string sources_of(const Host& host) {
  Sources sources;
  for (const Gpu& gpu : host.gpus) {
    sources.add("GPUs", gpu.bus_id, gpu.name, gpu.compute_capability, gpu.memory_bytes,
                gpu.ecc_now);
    sources.add("NVLinks", gpu.nvlinks);
    sources.add("NUMA nodes", gpu.numa_node);
  }
  for (const Nic& nic : host.nics)
    sources.add("NICs", nic.bus_id, nic.kind, nic.gbit_per_s, nic.gpudirect);
  for (const PciDevice& device : host.pci)
    sources.add("PCI tree", device.pci_class, device.gt_per_s, device.host_bridge);
  for (const NumaNode& node : host.numa)
    sources.add("NUMA nodes", node.cpus, node.memory_bytes);
  for (const StatedPath& stated : host.stated_paths)
    sources.add("paths", stated);
  return sources.text();
}

std::vector<std::string> remarks_of(const Host& host, const std::vector<NvlinkBundle>& bundles) {
  std::vector<std::string> remarks;
  if (host.virtual_machine.value_or(false))
    remarks.emplace_back("virtual machine: bridges and NUMA nodes may be hidden");
  auto count = [&](auto holds) { return std::ranges::count_if(host.gpus, holds); };
  if (auto n = count([](const Gpu& gpu) { return !gpu.numa_node && !gpu.near_numa_nodes; }); n > 0)
    remarks.push_back(fmt::format("NUMA node unknown for {} of {} GPUs", n, host.gpus.size()));
  auto untold = [&](const Gpu& gpu) { return !gpu.nvlinks && !stated_in_matrix(host, gpu); };
  if (auto n = count(untold); n > 0)
    remarks.push_back(fmt::format("NVLinks unknown for {} of {} GPUs", n, host.gpus.size()));
  std::vector<int> nowhere; // GPUs
  for (const Gpu& gpu : host.gpus)
    if (active_nvlinks(gpu).value_or(0) > 0 &&
        std::ranges::none_of(bundles, [&](const NvlinkBundle& bundle) {
          return bundle.gpu == gpu.index || bundle.peer == gpu.index;
        }))
      nowhere.push_back(gpu.index);
  if (!nowhere.empty())
    remarks.push_back(fmt::format("it is unknown where the NVLinks of GPU{} {} lead",
                                  nowhere.size() == 1 ? "" : "s",
                                  base::format_number_list(nowhere)));
  bool listed =
      std::ranges::any_of(host.gpus, [](const Gpu& gpu) { return gpu.nvlinks.value.has_value(); });
  bool switches =
      std::ranges::any_of(bundles, [](const NvlinkBundle& bundle) { return !bundle.peer; });
  if (switches && !listed)
    remarks.emplace_back(
        "NVSwitches are inferred: each GPU reaches the others by more links than it has");
  return remarks;
}

} // namespace

Outline outline_of(const Host& host, std::size_t position) {
  Outline outline;
  outline.root = {
      Kind::host, fmt::format("host{}", position), "Host " + host_label(host, position), {}, {}};
  auto& details = outline.root.details;
  add_if(details, host.cpu.name ? *host.cpu.name : host.cpu.vendor.value_or(""));
  if (host.cpu.sockets)
    details.push_back(
        fmt::format("{} socket{}", *host.cpu.sockets, *host.cpu.sockets == 1 ? "" : "s"));
  if (host.driver_version)
    details.push_back("driver " + *host.driver_version);
  if (host.virtual_machine.value_or(false))
    details.emplace_back("virtual machine");
  outline.root.children = Builder(host).numa_nodes();
  outline.nvlinks = nvlink_bundles(host);
  outline.remarks = remarks_of(host, outline.nvlinks);
  outline.sources = sources_of(host);
  return outline;
}

} // namespace ncclprobe::topology
