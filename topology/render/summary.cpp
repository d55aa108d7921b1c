// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/summary.h"

#include "base/number_list.h"
#include "base/text_table.h"
#include "topology/derive.h"
#include "topology/host_notes.h"
#include "topology/links.h"
#include "topology/paths.h"
#include "topology/pci_tree.h"
#include "topology/render/matrix.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

namespace ncclprobe::topology {
namespace {

using Align = base::TextTable::Align;

template <typename T>
std::string text(const Fact<T>& fact) {
  return fact ? fmt::format("{}", *fact) : "?";
}

std::string on_off(const Fact<bool>& fact) {
  return fact ? (*fact ? "on" : "off") : "?";
}

std::string memory(const Fact<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.1f} GiB", static_cast<double>(*bytes) / (1ULL << 30U)) : "?";
}

// "on", or "off, on after reset"
std::string mode(const Fact<bool>& now, const Fact<bool>& pending) {
  std::string words = on_off(now);
  if (now && pending && *now != *pending)
    words += fmt::format(", {} after reset", on_off(pending));
  return words;
}

std::string clock(const Gpu& gpu) {
  if (!gpu.sm_clock_mhz && !gpu.sm_clock_max_mhz)
    return "?";
  return fmt::format("{} of {} MHz", text(gpu.sm_clock_mhz), text(gpu.sm_clock_max_mhz));
}

std::string lanes(const Fact<int>& generation, const Fact<int>& width) {
  return fmt::format("gen{} x{}", text(generation), text(width));
}

// If the GPU itself reports nothing: data from its place in the PCI tree. NCCL's files have the
// maximum of device and slot, others the link's present state.
std::string pcie_of_device(const Host& host, const Gpu& gpu) {
  int position = pci_position(host, gpu.bus_id);
  if (position < 0)
    return "?";
  const PciDevice& device = host.pci[position];
  auto generation = [](const Fact<double>& gt_per_s) {
    auto number = gt_per_s ? pcie_generation(*gt_per_s) : std::nullopt;
    return number ? Fact<int>(*number, gt_per_s.source) : Fact<int>();
  };
  bool of_most = device.gt_per_s.source == Source::nccl || device.width.source == Source::nccl;
  std::string stated = lanes(generation(device.gt_per_s), device.width);
  std::string most = lanes(generation(device.gt_per_s_max), device.width_max);
  const std::string nothing = lanes({}, {});
  if (of_most)
    return stated == nothing ? "?" : "? of " + stated;
  if (stated == nothing && most == nothing)
    return "?";
  return (stated == nothing ? "?" : stated) + " of " + (most == nothing ? "?" : most);
}

// "gen1 x16 of gen5 x16": now, and at most in this slot.
std::string pcie(const Host& host, const Gpu& gpu) {
  const PcieLink& link = gpu.pcie;
  Fact<int> generation = link.generation_slot_max;
  generation.fill_from(link.generation_gpu_max);
  Fact<int> width = link.width_slot_max;
  width.fill_from(link.width_gpu_max);
  bool now = link.generation_now || link.width_now;
  if (!now && !generation && !width)
    return pcie_of_device(host, gpu);
  return (now ? lanes(link.generation_now, link.width_now) : "?") + " of " +
         lanes(generation, width);
}

// "18 of 18 v4.0 x 25 GB/s to NVSwitch"
std::string nvlinks(const Gpu& gpu) {
  if (!gpu.nvlinks)
    return "?";
  if (gpu.nvlinks->empty())
    return "none";
  int up = active_nvlinks(gpu).value_or(0);
  std::string words = fmt::format("{} of {}", up, gpu.nvlinks->size());
  auto first = std::ranges::find_if(*gpu.nvlinks,
                                    [](const NvLink& link) { return link.active.value_or(true); });
  if (up == 0 || first == gpu.nvlinks->end())
    return words;
  if (first->version)
    words += " v" + *first->version;
  if (auto rate = nvlink_gb_per_s(gpu, *first))
    words += fmt::format(" x {:g} GB/s", *rate);
  bool switches = false;
  bool gpus = false;
  for (const NvLink& link : *gpu.nvlinks) {
    switches = switches || link.remote.value == RemoteKind::nvswitch;
    gpus = gpus || link.remote.value == RemoteKind::gpu;
  }
  if (switches || gpus)
    words += switches && gpus ? " to NVSwitch and GPUs" : switches ? " to NVSwitch" : " to GPUs";
  return words;
}

std::string fabric(const Fabric& fabric) {
  std::string words = text(fabric.state);
  if (fabric.status && *fabric.status != "success")
    words += ", " + *fabric.status;
  if (fabric.health)
    words += ", " + *fabric.health;
  return words;
}

// The columns of one table about each GPU. The CPUs near it are in the matrix below.
struct GpuColumn {
  base::TextTable::Column column;
  std::function<std::string(const Host&, const Gpu&)> cell;
  bool of_links = false;
};

const std::vector<GpuColumn>& columns_of_gpus() {
  static const std::vector<GpuColumn> all{
      {{"model", Align::left}, [](const Host&, const Gpu& gpu) { return text(gpu.name); }},
      {{"bus id", Align::left}, [](const Host&, const Gpu& gpu) { return text(gpu.bus_id); }},
      {{"CC"}, [](const Host&, const Gpu& gpu) { return text(gpu.compute_capability); }},
      {{"memory"}, [](const Host&, const Gpu& gpu) { return memory(gpu.memory_bytes); }},
      {{"ECC", Align::left},
       [](const Host&, const Gpu& gpu) { return mode(gpu.ecc_now, gpu.ecc_pending); }},
      {{"MIG", Align::left},
       [](const Host&, const Gpu& gpu) { return mode(gpu.mig_now, gpu.mig_pending); }},
      {{"SM clock"}, [](const Host&, const Gpu& gpu) { return clock(gpu); }},
      {{"NUMA"}, [](const Host&, const Gpu& gpu) { return text(gpu.numa_node); }},
      {{"PCIe now of max", Align::left}, pcie, true},
      {{"NVLinks up", Align::left}, [](const Host&, const Gpu& gpu) { return nvlinks(gpu); }, true},
      {{"fabric", Align::left},
       [](const Host&, const Gpu& gpu) { return fabric(gpu.fabric); },
       true}};
  return all;
}

// The columns from `first` to before `last`; `unknown` gets the titles of those without a value for
// any GPU.
std::string gpu_table(const Host& host, std::size_t first, std::size_t last,
                      std::vector<std::string>& unknown) {
  const std::vector<GpuColumn>& all = columns_of_gpus();
  std::vector<base::TextTable::Column> titles{{"GPU"}};
  for (std::size_t i = first; i < last; ++i)
    titles.push_back(all[i].column);
  base::TextTable table(std::move(titles));
  for (const Gpu& gpu : host.gpus) {
    std::vector<std::string> row{std::to_string(gpu.index)};
    for (std::size_t i = first; i < last; ++i)
      row.push_back(all[i].cell(host, gpu));
    table.add_row(std::move(row));
  }
  unknown = table.leave_out_columns_of("?");
  return table.render();
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

// One table if it fits a page, else one for the GPUs and one for their connections.
std::string gpu_tables(const Host& host) {
  constexpr std::size_t k_page_columns = 100;
  std::size_t columns = columns_of_gpus().size();
  std::vector<std::string> unknown;
  std::string out = gpu_table(host, 0, columns, unknown);
  if (longest_line(out) > k_page_columns) {
    auto first_link = static_cast<std::size_t>(
        std::ranges::find_if(columns_of_gpus(), &GpuColumn::of_links) - columns_of_gpus().begin());
    std::vector<std::string> unknown_links;
    out = gpu_table(host, 0, first_link, unknown);
    std::string links = gpu_table(host, first_link, columns, unknown_links);
    unknown.insert(unknown.end(), unknown_links.begin(), unknown_links.end());
    out += "\n" + links;
  }
  return unknown.empty()
             ? out
             : out + fmt::format("unknown for every GPU: {}\n", fmt::join(unknown, ", "));
}

std::string nic_table(const Host& host) {
  base::TextTable table({{"NIC", Align::left},
                         {"kind", Align::left},
                         {"bus id", Align::left},
                         {"state", Align::left},
                         {"speed"},
                         {"GPUDirect", Align::left},
                         {"NUMA"}});
  for (const Nic& nic : host.nics)
    table.add_row({nic_label(nic), nic.kind ? std::string(to_string(*nic.kind)) : "?",
                   text(nic.bus_id), nic.up ? (*nic.up ? "up" : "down") : "?",
                   nic.gbit_per_s ? fmt::format("{:g} Gbit/s", *nic.gbit_per_s) : "?",
                   nic.gpudirect ? (*nic.gpudirect ? "yes" : "no") : "?", text(nic.numa_node)});
  return table.render();
}

// "read all pairs; write all pairs; atomics 54 of 56 pairs (0-1, 1-0: chipset_not_supported)"
std::string p2p_line(const Host& host) {
  struct Question {
    const char* name;
    Fact<P2pStatus> P2pCapability::*field;
  };
  std::string line;
  for (Question question :
       {Question{"read", &P2pCapability::read}, Question{"write", &P2pCapability::write},
        Question{"atomics", &P2pCapability::atomics}}) {
    int known = 0;
    int able = 0;
    std::map<std::string, std::vector<std::string>> refused;
    for (const P2pCapability& pair : host.p2p) {
      const Fact<P2pStatus>& status = pair.*question.field;
      if (!status)
        continue;
      ++known;
      if (*status == P2pStatus::ok)
        ++able;
      else
        refused[std::string(to_string(*status))].push_back(
            fmt::format("{}-{}", pair.from, pair.to));
    }
    line += fmt::format("{}{} ", line.empty() ? "P2P: " : "; ", question.name);
    if (known == 0) {
      line += "unknown";
      continue;
    }
    line += able == known ? "all pairs"
            : able == 0   ? "no pair"
                          : fmt::format("{} of {} pairs", able, known);
    for (const auto& [why, pairs] : refused) {
      std::string list;
      for (std::size_t i = 0; i < pairs.size() && i < 8 && able > 0; ++i)
        list += (i == 0 ? " " : ", ") + pairs[i];
      line += fmt::format(" ({}:{}{})", why, list, able > 0 && pairs.size() > 8 ? ", ..." : "");
    }
  }
  return line + "\n";
}

std::string heading(const Host& host, std::size_t number, std::size_t hosts) {
  std::string line = host.name.value_or("host");
  if (hosts > 1)
    line = fmt::format("[host {}] {}", number, line);
  if (host.driver_version)
    line += ", NVIDIA driver " + *host.driver_version;
  if (host.cuda_driver_version)
    line += fmt::format(" (CUDA {})", *host.cuda_driver_version);
  if (host.virtual_machine.value_or(false))
    line += ", virtual machine";
  line += fmt::format("\nCPU: {}{}", text(host.cpu.name.value ? host.cpu.name : host.cpu.vendor),
                      host.cpu.sockets ? fmt::format(", {} socket{}", *host.cpu.sockets,
                                                     *host.cpu.sockets == 1 ? "" : "s")
                                       : "");
  for (const NumaNode& node : host.numa)
    line += fmt::format("; NUMA node {}: CPUs {}, {}", node.index,
                        node.cpus ? base::format_number_list(*node.cpus) : "?",
                        memory(node.memory_bytes));
  return line + "\n";
}

} // namespace

std::string render_summary(const Machine& machine,
                           const std::vector<std::vector<std::string>>& contradictions,
                           int columns) {
  std::string out;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    const Host& host = machine.hosts[i];
    out += (i == 0 ? "" : "\n") + heading(host, i, machine.hosts.size()) + "\n";
    out += host.gpus.empty() ? "no GPU is known\n" : gpu_tables(host);
    if (host.gpus.size() > 1)
      out += p2p_line(host);
    if (!host.nics.empty())
      out += "\n" + nic_table(host);
    if (!host.gpus.empty())
      out += "\n" + render_matrix({{host}}, Legend::no, columns);
    out += "\n";
    for (const HostNote& note : host_notes(host, Load::idle))
      out += fmt::format("{}: {}\n", to_string(note.kind), note.text);
    if (i < contradictions.size())
      for (const std::string& contradiction : contradictions[i])
        out += "sources disagree: " + contradiction + "\n";
  }
  return out;
}

} // namespace ncclprobe::topology
