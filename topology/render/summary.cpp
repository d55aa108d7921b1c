// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/summary.h"

#include "base/number_list.h"
#include "base/text_table.h"
#include "topology/derive.h"
#include "topology/findings.h"
#include "topology/links.h"
#include "topology/paths.h"
#include "topology/render/matrix.h"

#include <fmt/format.h>

#include <algorithm>
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

// "gen1 x16 of gen5 x16": now, and at most in this slot.
std::string pcie(const PcieLink& link) {
  Fact<int> generation = link.generation_slot_max;
  generation.fill_from(link.generation_gpu_max);
  Fact<int> width = link.width_slot_max;
  width.fill_from(link.width_gpu_max);
  if (!link.generation_now && !link.width_now)
    return generation || width ? "? of " + lanes(generation, width) : "?";
  return lanes(link.generation_now, link.width_now) + " of " + lanes(generation, width);
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

std::string gpu_table(const Host& host) {
  base::TextTable table({{"GPU"},
                         {"model", Align::left},
                         {"bus id", Align::left},
                         {"CC"},
                         {"memory"},
                         {"ECC", Align::left},
                         {"MIG", Align::left},
                         {"SM clock"},
                         {"PCIe now of most", Align::left},
                         {"NVLinks up", Align::left},
                         {"fabric", Align::left},
                         {"NUMA"},
                         {"CPUs", Align::left}});
  for (const Gpu& gpu : host.gpus)
    table.add_row({std::to_string(gpu.index), text(gpu.name), text(gpu.bus_id),
                   text(gpu.compute_capability), memory(gpu.memory_bytes),
                   mode(gpu.ecc_now, gpu.ecc_pending), mode(gpu.mig_now, gpu.mig_pending),
                   clock(gpu), pcie(gpu.pcie), nvlinks(gpu), fabric(gpu.fabric),
                   text(gpu.numa_node),
                   gpu.cpu_affinity ? base::format_number_list(*gpu.cpu_affinity) : "?"});
  return table.render();
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
                           const std::vector<std::vector<std::string>>& contradictions) {
  std::string out;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    const Host& host = machine.hosts[i];
    out += (i == 0 ? "" : "\n") + heading(host, i, machine.hosts.size()) + "\n";
    out += host.gpus.empty() ? "no GPU is known\n" : gpu_table(host);
    if (host.gpus.size() > 1)
      out += p2p_line(host);
    if (!host.nics.empty())
      out += "\n" + nic_table(host);
    if (!host.gpus.empty())
      out += "\n" + render_matrix({{host}}, Legend::no);
    out += "\n";
    for (const Finding& finding : findings(host, Load::idle))
      out += fmt::format("{}: {}\n", to_string(finding.kind), finding.text);
    if (i < contradictions.size())
      for (const std::string& contradiction : contradictions[i])
        out += "sources disagree: " + contradiction + "\n";
  }
  return out;
}

} // namespace ncclprobe::topology
