// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/paths.h"

#include "topology/pci_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::topology {

namespace {

// The data of a device that a path needs, whatever its kind.
struct End {
  int pci = -1; // position in Host::pci
  Fact<int> numa;
  Fact<std::string> bus_id;
};

template <typename Device>
End end_of(const Host& host, const Device& device) {
  End end;
  end.bus_id = device.bus_id;
  end.pci = pci_position(host, device.bus_id);
  end.numa = device.numa_node;
  if (end.pci >= 0)
    end.numa.fill_from(numa_of(host, end.pci));
  return end;
}

std::optional<End> end_of(const Host& host, DeviceRef ref) {
  if (ref.kind == DeviceKind::gpu) {
    const Gpu* gpu = host.gpu(ref.index);
    return gpu ? std::optional(end_of(host, *gpu)) : std::nullopt;
  }
  const Nic* nic = host.nic(ref.index);
  return nic ? std::optional(end_of(host, *nic)) : std::nullopt;
}

FoundPath unknown(std::string why) {
  FoundPath found;
  found.why = std::move(why);
  return found;
}

FoundPath derived(PathType type, std::string why) {
  FoundPath found;
  found.path.type = type;
  found.source = Source::derived;
  found.why = std::move(why);
  return found;
}

FoundPath over_numa(const End& a, const End& b) {
  return derived(PathType::sys, fmt::format("NUMA nodes {} and {}", *a.numa, *b.numa));
}

// No common bridge: the highest bridge of each leads to a root of the CPU.
FoundPath path_over_roots(const Host& host, const End& a, const End& b) {
  Fact<std::string> root_a = host_bridge_of(host, a.pci);
  Fact<std::string> root_b = host_bridge_of(host, b.pci);
  bool numa_known = a.numa && b.numa;
  if (numa_known && *a.numa != *b.numa)
    return over_numa(a, b);
  if (host.virtual_machine.value_or(false))
    return unknown("the virtual machine hides the path between them");
  if (root_a && root_b) {
    if (*root_a == *root_b)
      return derived(PathType::phb, fmt::format("both on host bridge {}", *root_a));
    if (numa_known || host.numa.size() == 1)
      return derived(PathType::node,
                     fmt::format("host bridges {} and {} of one NUMA node", *root_a, *root_b));
    return unknown(
        fmt::format("host bridges {} and {}, whose NUMA nodes are unknown", *root_a, *root_b));
  }
  // NCCL's files do not distinguish host bridges, and NCCL treats a NUMA node as one.
  if (numa_known && host.pci_detail.value == PciDetail::switches) {
    FoundPath found = derived(
        PathType::phb, fmt::format("NUMA node {}; host bridges are not distinguished", *a.numa));
    found.host_bridges_unknown = true;
    return found;
  }
  return unknown("no bridge, host bridge or NUMA node is known between them");
}

FoundPath path_by_pci(const Host& host, const End& a, const End& b) {
  if (a.bus_id && b.bus_id && *a.bus_id == *b.bus_id)
    return derived(PathType::pix, "two functions of one device");
  if (a.pci < 0 || b.pci < 0) {
    if (a.numa && b.numa && *a.numa != *b.numa)
      return over_numa(a, b);
    return unknown("their places in the PCI tree are unknown");
  }
  LowestCommonAncestor ancestor = lowest_common_ancestor(host, a.pci, b.pci);
  if (ancestor.common < 0)
    return path_over_roots(host, a, b);
  const PciDevice& common = host.pci[ancestor.common];
  std::string below = fmt::format("both below {}{}", common.bus_id,
                                  common.origin == PciOrigin::stand_in ? ", a stand-in" : "");
  if (ancestor.switches == 1)
    return derived(PathType::pix, below);
  return derived(PathType::pxb, fmt::format("{}, through {} switches", below, ancestor.switches));
}

const StatedPath* stated_path(const Host& host, DeviceRef a, DeviceRef b) {
  auto found = std::ranges::find_if(host.stated_paths, [&](const StatedPath& stated) {
    return (stated.a == a && stated.b == b) || (stated.a == b && stated.b == a);
  });
  return found == host.stated_paths.end() ? nullptr : &*found;
}

bool is_up(const NvLink& link) {
  return link.active.value_or(link.gb_per_s.value_or(0) > 0);
}

// The far ends of a GPU's active links, relative to one other GPU.
struct LinkEnds {
  int there = 0;    // the other GPU
  int switches = 0; // NVSwitches
  int nowhere = 0;  // unknown, or back to the GPU itself, which is impossible
};

LinkEnds link_ends(const Gpu& gpu, const Gpu& other) {
  LinkEnds ends;
  for (const NvLink& link : *gpu.nvlinks) {
    if (!is_up(link))
      continue;
    bool to_itself = link.remote_bus_id && link.remote_bus_id.value == gpu.bus_id.value;
    if (link.remote.value == RemoteKind::nvswitch)
      ++ends.switches;
    else if (!link.remote_bus_id && link.remote.value != RemoteKind::cpu)
      ++ends.nowhere;
    else if (to_itself || !other.bus_id)
      ++ends.nowhere;
    else if (link.remote_bus_id.value == other.bus_id.value)
      ++ends.there;
  }
  return ends;
}

} // namespace

std::string FoundPath::text() const {
  return host_bridges_unknown ? "PHB or NODE" : path.label();
}

std::optional<int> active_nvlinks(const Gpu& gpu) {
  if (!gpu.nvlinks)
    return std::nullopt;
  return static_cast<int>(std::ranges::count_if(*gpu.nvlinks, is_up));
}

std::optional<int> nvlinks_between(const Gpu& a, const Gpu& b) {
  LinkEnds from_a = a.nvlinks ? link_ends(a, b) : LinkEnds{};
  LinkEnds from_b = b.nvlinks ? link_ends(b, a) : LinkEnds{};
  // One end is enough; if both report links, the smaller number counts.
  if (from_a.there > 0 && from_b.there > 0)
    return std::min(from_a.there, from_b.there);
  if (from_a.there > 0 || from_b.there > 0)
    return std::max(from_a.there, from_b.there);
  if (from_a.switches > 0 && from_b.switches > 0)
    return std::min(from_a.switches, from_b.switches);
  auto might_lead_there = [](const Gpu& gpu, const LinkEnds& ends) {
    return !gpu.nvlinks || ends.nowhere > 0;
  };
  if (might_lead_there(a, from_a) && might_lead_there(b, from_b))
    return std::nullopt;
  return 0;
}

bool stated_in_matrix(const Host& host, const Gpu& gpu) {
  DeviceRef self{DeviceKind::gpu, gpu.index};
  return std::ranges::any_of(host.stated_paths, [&](const StatedPath& stated) {
    return stated.source == Source::nvidia_smi && stated.a.kind == stated.b.kind &&
           (stated.a == self || stated.b == self);
  });
}

bool nvlinks_untold(const Gpu& a, const Gpu& b, const FoundPath& found) {
  return found.path.type != PathType::nvlink && found.source != Source::nvidia_smi &&
         !nvlinks_between(a, b);
}

FoundPath path_between(const Host& host, DeviceRef a, DeviceRef b) {
  auto end_a = end_of(host, a);
  auto end_b = end_of(host, b);
  if (!end_a || !end_b)
    return unknown("no such device");
  if (a == b)
    return derived(PathType::self, "the device itself");
  std::optional<int> nvlinks = 0;
  bool nobody_looked = false;
  if (a.kind == DeviceKind::gpu && b.kind == DeviceKind::gpu) {
    const Gpu& gpu_a = *host.gpu(a.index);
    const Gpu& gpu_b = *host.gpu(b.index);
    nvlinks = nvlinks_between(gpu_a, gpu_b);
    nobody_looked = !nvlinks && !gpu_a.nvlinks && !gpu_b.nvlinks;
    if (nvlinks.value_or(0) > 0)
      return {{PathType::nvlink, *nvlinks},
              gpu_a.nvlinks ? gpu_a.nvlinks.source : gpu_b.nvlinks.source,
              fmt::format("{} NVLinks", *nvlinks),
              false,
              false};
  }
  if (const StatedPath* stated = stated_path(host, a, b);
      stated && stated->path.type != PathType::unknown)
    return {stated->path, stated->source, fmt::format("stated by {}", to_string(stated->source)),
            false, false};
  if (!nvlinks && !nobody_looked)
    return unknown("they have NVLinks, but where these lead is unknown");
  FoundPath found = path_by_pci(host, *end_a, *end_b);
  found.nvlinks_unknown = nobody_looked;
  if (nobody_looked)
    found.why += "; NVLinks are unknown";
  return found;
}

} // namespace ncclprobe::topology
