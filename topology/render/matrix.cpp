// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/matrix.h"

#include "base/number_list.h"
#include "base/text_table.h"
#include "topology/derive.h"
#include "topology/paths.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace ncclprobe::topology {

namespace {

// In nvidia-smi's own words and order.
constexpr const char* k_legend =
    "\nLegend:\n\n"
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., "
    "QPI/UPI)\n"
    "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges "
    "within a NUMA node\n"
    "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
    "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host "
    "Bridge)\n"
    "  PIX  = Connection traversing at most a single PCIe bridge\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n";

struct Device {
  DeviceRef ref;
  std::string name;
};

std::vector<Device> devices_of(const Host& host) {
  std::vector<Device> devices;
  for (const Gpu& gpu : host.gpus)
    devices.push_back({{DeviceKind::gpu, gpu.index}, fmt::format("GPU{}", gpu.index)});
  for (const Nic& nic : host.nics)
    devices.push_back({{DeviceKind::nic, nic.index}, fmt::format("NIC{}", nic.index)});
  return devices;
}

std::string cpu_affinity(const Host& host, const Gpu& gpu) {
  if (gpu.cpu_affinity)
    return base::format_number_list(*gpu.cpu_affinity);
  const NumaNode* node = gpu.numa_node ? host.numa_node(*gpu.numa_node) : nullptr;
  return node && node->cpus ? base::format_number_list(*node->cpus) : "?";
}

std::string numa_affinity(const Gpu& gpu) {
  if (gpu.numa_node)
    return std::to_string(*gpu.numa_node);
  return gpu.near_numa_nodes ? base::format_number_list(*gpu.near_numa_nodes) : "?";
}

// Notes that the cells cannot show.
struct Remarks {
  std::set<Source> sources;
  std::map<std::string, int> unknown; // reason -> pairs
  bool nvlinks_unknown = false;
  int host_bridges_unknown = 0; // pairs

  void take(const FoundPath& found) {
    if (found.path.type == PathType::unknown)
      ++unknown[found.why];
    else
      sources.insert(found.source);
    nvlinks_unknown = nvlinks_unknown || found.nvlinks_unknown;
    host_bridges_unknown += found.host_bridges_unknown;
  }

  std::string text() const {
    std::string lines;
    if (!sources.empty()) {
      std::string names;
      for (Source source : sources)
        names += (names.empty() ? "" : ", ") + std::string(to_string(source));
      lines += fmt::format("Paths from: {}\n", names);
    }
    if (nvlinks_unknown)
      lines += "NVLinks are unknown: between GPUs the labels are those of the PCIe paths.\n";
    if (host_bridges_unknown > 0)
      lines += fmt::format("PHB = PHB or NODE for {} pair{}: NCCL's files do not tell the host "
                           "bridges of a NUMA node apart\n",
                           host_bridges_unknown, host_bridges_unknown == 1 ? "" : "s");
    for (const auto& [why, pairs] : unknown)
      lines += fmt::format("? = unknown for {} pair{}: {}\n", pairs, pairs == 1 ? "" : "s", why);
    return lines;
  }
};

std::string host_matrix(const Host& host, int columns_that_fit) {
  std::vector<Device> devices = devices_of(host);
  if (devices.empty())
    return "No GPUs and no network adapters are known.\n";
  using Align = base::TextTable::Align;
  std::vector<base::TextTable::Column> columns{{"", Align::left}};
  for (const Device& device : devices)
    columns.push_back({device.name, Align::left});
  for (const char* title : {"CPU Affinity", "NUMA Affinity"})
    columns.push_back({title, Align::left});
  base::TextTable table(std::move(columns));
  Remarks remarks;
  for (const Device& row : devices) {
    std::vector<std::string> cells{row.name};
    for (const Device& column : devices) {
      FoundPath found = path_between(host, row.ref, column.ref);
      if (&row < &column)
        remarks.take(found);
      cells.push_back(found.path.label());
    }
    if (row.ref.kind == DeviceKind::gpu) {
      const Gpu& gpu = *host.gpu(row.ref.index);
      cells.push_back(cpu_affinity(host, gpu));
      cells.push_back(numa_affinity(gpu));
    }
    table.add_row(std::move(cells));
  }
  std::string text = columns_that_fit > 0 ? table.render_within(columns_that_fit) : table.render();
  if (!host.nics.empty()) {
    text += "\nNIC Legend:\n\n";
    for (const Nic& nic : host.nics)
      text += fmt::format("  NIC{}: {}\n", nic.index, nic_label(nic));
  }
  std::string remarked = remarks.text();
  return text + (remarked.empty() ? "" : "\n") + remarked;
}

} // namespace

std::string render_matrix(const Machine& machine, Legend legend, int columns) {
  std::string text;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    const Host& host = machine.hosts[i];
    if (machine.hosts.size() > 1)
      text += fmt::format("{}Host {}\n", i == 0 ? "" : "\n", host_label(host, i));
    text += host_matrix(host, columns);
  }
  return legend == Legend::yes ? text + k_legend : text;
}

} // namespace ncclprobe::topology
