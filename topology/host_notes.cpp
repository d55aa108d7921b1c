// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/host_notes.h"

#include "base/number_list.h"
#include "topology/derive.h"
#include "topology/link_health.h"
#include "topology/links.h"
#include "topology/paths.h"
#include "topology/pci_tree.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

namespace ncclprobe::topology {
namespace {

// "GPU 3", "GPUs 0-7"
std::string gpus_text(const std::vector<int>& gpus) {
  return (gpus.size() == 1 ? "GPU " : "GPUs ") + base::format_number_list(gpus);
}

class HostNotes {
public:
  HostNotes(const Host& host, Load load) : host_(host), load_(load) {}

  std::vector<HostNote> take() {
    what_is_hidden();
    pcie_links();
    nvlinks();
    fabric();
    modes();
    nics();
    return std::move(found_);
  }

private:
  void add(NoteKind kind, std::string text) { found_.push_back({kind, std::move(text)}); }

  // One note for all GPUs with the same problem.
  void of_gpus(NoteKind kind, const std::function<std::string(const Gpu&)>& say) {
    std::vector<std::pair<std::string, std::vector<int>>> said;
    for (const Gpu& gpu : host_.gpus) {
      std::string text = say(gpu);
      if (text.empty())
        continue;
      auto same = std::ranges::find(said, text, &std::pair<std::string, std::vector<int>>::first);
      if (same == said.end())
        same = said.insert(said.end(), {text, {}});
      same->second.push_back(gpu.index);
    }
    for (const auto& [text, gpus] : said)
      add(kind, gpus_text(gpus) + ": " + text);
  }

  void what_is_hidden() {
    bool vm = host_.virtual_machine.value_or(false);
    const char* where = vm ? "the virtual machine does not show " : "no source shows ";
    bool any_bridge = std::ranges::any_of(
        host_.pci, [](const PciDevice& device) { return device.kind == PciKind::bridge; });
    if (!host_.gpus.empty() && !any_bridge)
      add(NoteKind::unknown,
          std::string(where) +
              "the PCIe switches and root ports above the GPUs: shared PCIe links are unknown");
    bool of_some_gpu = std::ranges::any_of(
        host_.gpus, [](const Gpu& gpu) { return gpu.numa_node || gpu.near_numa_nodes; });
    bool any_numa = !host_.numa.empty() || (of_some_gpu && !vm);
    if (!any_numa)
      add(NoteKind::unknown, std::string(where) + "NUMA nodes");
    of_gpus(NoteKind::unknown, [&](const Gpu& gpu) {
      return gpu.numa_node || gpu.near_numa_nodes || !any_numa
                 ? ""
                 : std::string(where) + "the NUMA node";
    });
    of_gpus(NoteKind::unknown, [&](const Gpu& gpu) -> std::string {
      const PciDevice* device = gpu.bus_id ? host_.pci_device(*gpu.bus_id) : nullptr;
      if (!vm || !gpu.numa_node || !device || device->numa_node)
        return "";
      return fmt::format("NUMA node {} by {}, but the virtual machine's PCI devices have none: it "
                         "may not be the physical node",
                         *gpu.numa_node, to_string(gpu.numa_node.source));
    });
    of_gpus(NoteKind::unknown, [&](const Gpu& gpu) {
      return gpu.nvlinks || stated_in_matrix(host_, gpu)
                 ? ""
                 : "no source says whether there are NVLinks";
    });
  }

  static PcieSpeed speed_of(const PcieLink& link) {
    Fact<int> width = link.width_slot_max;
    width.fill_from(link.width_gpu_max);
    Fact<int> generation = link.generation_slot_max;
    generation.fill_from(link.generation_gpu_max);
    return {link.generation_now.value, generation.value, link.width_now.value, width.value};
  }

  // The slot's limits, if the GPU could do more.
  static std::string lesser_slot(const char* what, const Fact<int>& slot, const Fact<int>& gpu) {
    return slot && gpu && *slot < *gpu
               ? fmt::format("the slot supports PCIe {}{}, the GPU {}{}", what, *slot, what, *gpu)
               : "";
  }

  // The state of its link, from the GPU or its place in the PCI tree.
  std::optional<int> width_of(const Gpu& gpu) const {
    if (int place = pci_position(host_, gpu.bus_id); place >= 0)
      return pcie_rate(host_, static_cast<std::size_t>(place)).width;
    return gpu.pcie.width_now.value;
  }

  void pcie_links() {
    auto state = [&](const Gpu& gpu) { return pcie_state(speed_of(gpu.pcie), load_); };
    of_gpus(NoteKind::degraded, [&](const Gpu& gpu) {
      PcieSpeed speed = speed_of(gpu.pcie);
      return state(gpu) == PcieState::narrow
                 ? fmt::format("PCIe x{} of x{}: with or without load, a link this narrow means a "
                               "problem with seating, slot or riser",
                               *speed.width, *speed.best_width)
                 : lesser_slot("x", gpu.pcie.width_slot_max, gpu.pcie.width_gpu_max);
    });
    of_gpus(NoteKind::degraded, [&](const Gpu& gpu) {
      PcieSpeed speed = speed_of(gpu.pcie);
      return state(gpu) == PcieState::slow
                 ? fmt::format("PCIe generation {} of {} under load", *speed.generation,
                               *speed.best_generation)
                 : lesser_slot("generation ", gpu.pcie.generation_slot_max,
                               gpu.pcie.generation_gpu_max);
    });
    std::optional<int> widest;
    for (const Gpu& gpu : host_.gpus)
      widest = std::max(widest, width_of(gpu));
    // A link with its slot's full width is not degraded; but the other GPUs wait for it.
    of_gpus(NoteKind::remark, [&](const Gpu& gpu) {
      auto width = width_of(gpu);
      return width && *width < *widest && state(gpu) != PcieState::narrow
                 ? fmt::format("PCIe x{}, but other GPUs of this host have x{}", *width, *widest)
                 : "";
    });
    of_gpus(NoteKind::remark, [&](const Gpu& gpu) {
      PcieSpeed speed = speed_of(gpu.pcie);
      return state(gpu) == PcieState::idle
                 ? fmt::format("PCIe generation {} of {} now: idle GPUs lower their link speed; "
                               "check again under load",
                               *speed.generation, *speed.best_generation)
                 : "";
    });
  }

  std::vector<NvLinkHealth> nvlinks_of_gpus() const {
    std::vector<NvLinkCount> counts;
    bool switches = false;
    for (const Gpu& gpu : host_.gpus) {
      NvLinkCount& one = counts.emplace_back();
      one.gpu = gpu.name.value_or("");
      if (const PciDevice* device = gpu.bus_id ? host_.pci_device(*gpu.bus_id) : nullptr)
        one.pci_device_id = device->device.value;
      one.mig = gpu.mig_now.value_or(false);
      one.in_fabric = gpu.fabric.state && *gpu.fabric.state != "not_supported";
      if (!gpu.nvlinks)
        continue;
      one.links = static_cast<int>(gpu.nvlinks->size());
      one.up = 0;
      for (const NvLink& link : *gpu.nvlinks) {
        if (!link.active)
          one.up.reset();
        else if (one.up && *link.active)
          ++*one.up;
        switches = switches || link.remote.value == RemoteKind::nvswitch;
      }
    }
    return nvlink_health(counts, switches);
  }

  static std::vector<int> links_down(const Gpu& gpu) {
    std::vector<int> down;
    for (const NvLink& link : *gpu.nvlinks)
      if (!link.active.value_or(true))
        down.push_back(link.number.value_or(0));
    return down;
  }

  void nvlinks() {
    std::vector<NvLinkHealth> all = nvlinks_of_gpus();
    auto health = [&](const Gpu& gpu) -> const NvLinkHealth& {
      return all[&gpu - host_.gpus.data()];
    };
    of_gpus(NoteKind::degraded, [&](const Gpu& gpu) -> std::string {
      const NvLinkHealth& one = health(gpu);
      if (one.state != NvLinkState::down)
        return "";
      bool some = one.up > 0 && one.up < one.links;
      return one.text() +
             (some ? "; down: " + base::format_number_list(links_down(gpu)) : std::string());
    });
    of_gpus(NoteKind::unknown, [&](const Gpu& gpu) {
      const NvLinkHealth& one = health(gpu);
      return one.state == NvLinkState::undecided ? one.text() : "";
    });
    of_gpus(NoteKind::remark, [&](const Gpu& gpu) {
      const NvLinkHealth& one = health(gpu);
      return one.state == NvLinkState::bridged
                 ? one.text() + ", the same on all GPUs: are bridges missing?"
                 : "";
    });
  }

  void fabric() {
    of_gpus(NoteKind::degraded, [&](const Gpu& gpu) -> std::string {
      const Fabric& fabric = gpu.fabric;
      // A guest may not run its own manager.
      const char* where =
          host_.virtual_machine.value_or(false) ? "here or on the virtual machine's host" : "here";
      if (fabric.state && *fabric.state != "completed" && *fabric.state != "not_supported")
        return fmt::format("the NVLink fabric is not ready ({}): does nvidia-fabricmanager run {}?",
                           *fabric.state, where);
      if (fabric.status && *fabric.status != "success")
        return fmt::format("the NVLink fabric reports: {}", *fabric.status);
      if (fabric.health && *fabric.health != "healthy")
        return fmt::format("NVLink fabric: {}", *fabric.health);
      return "";
    });
  }

  void modes() {
    of_gpus(NoteKind::remark, [](const Gpu& gpu) -> std::string {
      if (!gpu.ecc_now || !gpu.ecc_pending || *gpu.ecc_now == *gpu.ecc_pending)
        return "";
      return fmt::format("ECC is {} and will be {} after the next reset",
                         *gpu.ecc_now ? "on" : "off", *gpu.ecc_pending ? "on" : "off");
    });
    of_gpus(NoteKind::remark, [](const Gpu& gpu) -> std::string {
      return gpu.mig_now.value_or(false) ? "MIG is on: its instances have neither P2P nor NVLink"
                                         : "";
    });
    std::map<std::string, std::vector<int>> models;
    for (const Gpu& gpu : host_.gpus)
      if (gpu.name)
        models[*gpu.name].push_back(gpu.index);
    if (models.size() > 1) {
      std::string list;
      for (const auto& [name, gpus] : models)
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, gpus_text(gpus));
      add(NoteKind::remark, "different GPUs in one host: " + list);
    }
  }

  void nics() {
    std::vector<std::string> open;
    for (const Nic& nic : host_.nics) {
      if (nic.up && !*nic.up && nic.kind && *nic.kind != NicKind::ethernet)
        add(NoteKind::degraded, nic_label(nic) + ": the port is down");
      if (!nic.gpudirect)
        open.push_back(nic_label(nic));
    }
    if (open.empty() || host_.gpus.empty())
      return;
    add(NoteKind::unknown, fmt::format("{}: GPUDirect is unknown (no module nvidia_peermem; "
                                       "dma-buf works without it, but only a test can show that)",
                                       fmt::join(open, ", ")));
  }

  const Host& host_;
  Load load_;
  std::vector<HostNote> found_;
};

} // namespace

std::vector<HostNote> host_notes(const Host& host, Load load) {
  return HostNotes(host, load).take();
}

} // namespace ncclprobe::topology
