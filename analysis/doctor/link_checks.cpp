// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D12, D13: links, and obstacles to GPU-to-GPU access.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "base/text_layout.h"
#include "topology/paths.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

using model::GpuHealth;

constexpr std::uint64_t k_pcie_replays = 1000; // our limit

// NVML's throttle reason "GPU idle" (nvml.h, nvmlClocksEventReasonGpuIdle).
constexpr std::uint64_t k_idle = 0x1;

std::vector<topology::NvLinkCount> nvlink_counts(const model::Survey& survey) {
  std::vector<topology::NvLinkCount> counts;
  for (const GpuHealth& gpu : survey.health) {
    topology::NvLinkCount& one =
        counts.emplace_back(topology::NvLinkCount{gpu.name, gpu.nvlinks, gpu.active_nvlinks});
    for (const topology::PciDevice& device : survey.inventory.topology.pci)
      if (same_pci(device.bus_id, gpu.pci_bus_id))
        one.pci_device_id = device.device.value;
    one.mig = gpu.mig.value_or(false);
    one.in_fabric = tells_fabric_state(gpu);
  }
  return counts;
}

void check_nvlinks(const model::Survey& survey, CheckResults& into, bool& anything) {
  std::vector<topology::NvLinkHealth> all =
      topology::nvlink_health(nvlink_counts(survey), survey.host->driver.nvswitches > 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    using enum topology::NvLinkState;
    const topology::NvLinkHealth& one = all[i];
    if (one.state == untold || one.state == as_expected)
      continue;
    anything = true;
    std::string seen = fmt::format("{}: {}", gpu_label(survey.health[i]), one.text());
    if (one.state == undecided)
      into.add_host(
          survey, {"D12",
                   CheckStatus::unknown,
                   {"nvlinks_unknown", "no NVLink is up, and it is unknown whether one should be"},
                   {seen},
                   "",
                   "nvidia-smi nvlink -s; nvidia-smi topo -m"});
    else if (one.state == bridged)
      into.add_host(
          survey,
          {"D12",
           CheckStatus::info,
           {"nvlink_bridges", "each GPU has the same number of NVLinks down: are bridges missing?"},
           {seen},
           "none if no more bridges are installed",
           "nvidia-smi nvlink -s; ncclprobe topo shows which GPUs are connected"});
    else
      into.add_host(survey,
                    {"D12",
                     CheckStatus::fail,
                     {"nvlinks_down", "NVLinks are down"},
                     {seen},
                     one.up == 0 ? "data between these GPUs goes over PCIe or through host memory"
                                 : "bandwidth between these GPUs drops with the number of links",
                     "nvidia-smi nvlink -s; dmesg | grep -i xid (74); then contact the vendor"});
  }
}

// GPUs with common NVLinks or a common PCIe tree that may not access each other.
void check_p2p(const model::Survey& survey, CheckResults& into, bool& anything) {
  const topology::Host& host = survey.inventory.topology;
  std::vector<std::string> seen;
  for (const topology::P2pCapability& pair : host.p2p) {
    if (pair.from > pair.to || !pair.can_access || *pair.can_access)
      continue;
    topology::FoundPath found = topology::path_between(host, {topology::DeviceKind::gpu, pair.from},
                                                       {topology::DeviceKind::gpu, pair.to});
    using enum topology::PathType;
    topology::PathType type = found.path.type;
    if (type == nvlink || type == pix || type == pxb)
      seen.push_back(fmt::format("GPU {} and GPU {}: {}, but CUDA reports no access", pair.from,
                                 pair.to, found.path.label()));
  }
  if (seen.empty())
    return;
  anything = true;
  into.add_host(
      survey,
      {"D12",
       CheckStatus::warn,
       {"p2p_denied", "GPUs that share NVLinks or a PCIe switch cannot access each other's memory"},
       seen,
       "NCCL sends their data through host memory",
       "nvidia-smi topo -p2p r gives the reason; ncclprobe topo shows the paths"});
}

void check_pcie(const model::Survey& survey, CheckResults& into, bool& anything) {
  for (const GpuHealth& gpu : survey.health) {
    bool busy =
        gpu.busy_percent.value_or(0) > 0 && (gpu.throttle_reasons.value_or(k_idle) & k_idle) == 0;
    std::string seen = gpu_label(gpu) + ": " + pcie_text(gpu);
    auto state = pcie_state(gpu, busy ? topology::Load::busy : topology::Load::idle);
    anything = anything || state != topology::PcieState::as_expected;
    if (state == topology::PcieState::narrow)
      into.add_host(survey, {"D12",
                             CheckStatus::warn,
                             {"pcie_narrow", "a PCIe link has fewer lanes than it supports"},
                             {seen},
                             "copies to and from the host are slower in proportion",
                             "reseat card and riser; check the slot's settings in the BIOS"});
    else if (state == topology::PcieState::slow)
      into.add_host(survey,
                    {"D12",
                     CheckStatus::warn,
                     {"pcie_slow", "a busy GPU's PCIe link runs below its maximum generation"},
                     {fmt::format("{}; {} % busy", seen, *gpu.busy_percent)},
                     "copies to and from the host are slower in proportion",
                     "reseat card and riser; check the slot's settings in the BIOS"});
    else if (state == topology::PcieState::idle) // idle links are slow; only load shows their speed
      into.add_host(
          survey,
          {"D12",
           CheckStatus::info,
           {"pcie_idle", "PCIe links run below their maximum generation, as is normal when idle"},
           {seen},
           "none if they speed up under load: --deep checks that",
           "ncclprobe doctor --deep"});
    if (gpu.pcie_replays.value_or(0) > k_pcie_replays) {
      anything = true;
      into.add_host(survey, {"D12",
                             CheckStatus::warn,
                             {"pcie_replays", "a PCIe link repeats packets"},
                             {fmt::format("{}: {} replays (our limit: {})", gpu_label(gpu),
                                          *gpu.pcie_replays, k_pcie_replays)},
                             "bandwidth to the host drops, and some copies take much longer",
                             "reseat card and riser"});
    }
  }
}

enum class Iommu { off, passes, translates, unknown };

// The types of the IOMMU groups are more reliable than the kernel's command line, which omits the
// kernel's default and has no effect without an IOMMU. A container may hide the groups.
Iommu iommu_of(const model::Survey& survey, std::vector<std::string>& seen) {
  const model::PciSurvey& pci = survey.host->pci;
  std::size_t passed = 0;
  Iommu worst = Iommu::passes;
  for (const model::IommuGroup& group : pci.device_groups) {
    bool translated = group.type.starts_with("DMA");
    passed += group.type == "identity" ? 1 : 0;
    if (translated)
      worst = Iommu::translates;
    if (group.type != "identity")
      seen.push_back(fmt::format("{}: IOMMU type {}", fmt::join(group.devices, ", "),
                                 group.type.empty() ? "unknown" : group.type));
  }
  if (passed > 0)
    seen.push_back(base::count_of(static_cast<std::size_t>(passed), "group", "groups") +
                   " of GPUs and network cards: identity");
  auto says = [&](const char* words) { return pci.iommu_words.find(words) != std::string::npos; };
  if (worst == Iommu::translates)
    return worst;
  if (passed > 0 && passed == pci.device_groups.size())
    return Iommu::passes;
  if (pci.iommu_groups == 0 && survey.process.confinement.container.empty())
    return Iommu::off;
  if (says("iommu=pt") || says("iommu.passthrough=1"))
    return Iommu::passes;
  return says("iommu=on") && pci.iommu_groups > 0 ? Iommu::translates : Iommu::unknown;
}

void check_peers(const model::Survey& survey, CheckResults& into) {
  const model::PciSurvey& pci = survey.host->pci;
  bool any_nvlink =
      std::any_of(survey.health.begin(), survey.health.end(),
                  [](const GpuHealth& gpu) { return gpu.active_nvlinks.value_or(0) > 0; });
  bool several = survey.inventory.gpus.size() > 1;
  bool concerned = (several && !any_nvlink) || !survey.host->rdma.empty();
  bool matters = !survey.inventory.gpus.empty() || !survey.host->rdma.empty();
  std::vector<std::string> redirecting;
  std::size_t unread = 0;
  for (const model::PciBridge& bridge : pci.bridges) {
    unread += bridge.redirects_peers ? 0 : 1;
    if (bridge.redirects_peers == true)
      redirecting.push_back(bridge.address);
  }
  std::vector<std::string> seen;
  if (!pci.hypervisor.empty())
    seen.push_back("in a virtual machine: " + pci.hypervisor);
  if (!pci.iommu_words.empty())
    seen.push_back("kernel command line: " + pci.iommu_words);
  seen.push_back(fmt::format("{} IOMMU groups", pci.iommu_groups));
  Iommu iommu = iommu_of(survey, seen);
  if (unread > 0)
    seen.push_back(
        fmt::format("{} of {} PCI bridges could not be read", unread, pci.bridges.size()));
  if (!redirecting.empty() && pci.hypervisor.empty()) {
    std::size_t count = redirecting.size();
    seen.insert(seen.end(), redirecting.begin(), redirecting.end());
    into.add_host(
        survey,
        {"D13", concerned ? CheckStatus::warn : CheckStatus::info,
         What("acs_redirects",
              "{bridges} PCI bridges redirect peers' traffic to the root complex (ACS)",
              {{"bridges", count}, {"first", redirecting.front()}}),
         seen,
         "P2P over PCIe and GPUDirect RDMA go through the root complex: slow, and some platforms "
         "hang",
         count > 1 ? "setpci -s {first} ECAP_ACS+0x6.w=0000, and the same for each of them "
                     "(administrator, bare metal only)"
                   : "setpci -s {first} ECAP_ACS+0x6.w=0000 (administrator, bare metal only)"});
    return;
  }
  if (iommu == Iommu::translates && pci.hypervisor.empty()) {
    into.add_host(survey,
                  {"D13",
                   concerned ? CheckStatus::warn : CheckStatus::info,
                   {"iommu_translates", "the IOMMU translates addresses of GPUs or network cards"},
                   seen,
                   "P2P over PCIe may be slow, or give wrong data",
                   "add iommu=pt to the kernel's command line, and reboot (administrator)"});
    return;
  }
  auto unknown = [&](const What& what, const char* fix) {
    into.add_host(survey, {"D13", CheckStatus::unknown, what, seen, "", fix});
  };
  if (!pci.hypervisor.empty())
    unknown({"guest", "a guest cannot see what its hypervisor does between devices"}, "");
  else if (pci.bridges.empty())
    unknown(
        {"no_bridge_visible", "no PCI bridge is visible: the paths between devices are unknown"},
        "");
  else if (unread > 0)
    unknown({"acs_unknown", "only root can read the ACS of PCI bridges"},
            "sudo lspci -vvv | grep -i acsctl");
  else if (iommu == Iommu::unknown && matters)
    unknown({"iommu_unknown",
             "whether the IOMMU translates addresses of GPUs and network cards is unknown"},
            "cat /sys/kernel/iommu_groups/*/type; dmesg | grep -i 'iommu: Default domain type'");
  else
    into.add_host(
        survey,
        {"D13", CheckStatus::ok,
         iommu == Iommu::off
             ? What("iommu_off", "nothing redirects traffic between devices; no IOMMU is in use")
         : iommu == Iommu::passes
             ? What("iommu_passes", "nothing redirects traffic between devices; "
                                    "the IOMMU does not translate their addresses")
             : What("nothing_redirects", "nothing redirects traffic between devices"),
         seen});
}

void check_untold(const model::Survey& survey, CheckResults& into, bool anything) {
  std::vector<std::string> untold;
  bool any_nvlink = false;
  for (const GpuHealth& gpu : survey.health) {
    any_nvlink = any_nvlink || gpu.nvlinks.value_or(0) > 0;
    note_untold(gpu,
                {{"NVLinks", (gpu.nvlinks && gpu.active_nvlinks) || has_no_nvlink(gpu.name)},
                 {"PCIe lanes", gpu.pcie_width && gpu.most_pcie_width},
                 {"PCIe generation", gpu.pcie_generation && gpu.most_pcie_generation}},
                untold);
  }
  if (!untold.empty())
    into.add_host(survey, {"D12",
                           CheckStatus::unknown,
                           {"links_unknown", "NVML does not report all of the GPUs' links"},
                           untold,
                           "",
                           "nvidia-smi nvlink -s; nvidia-smi -q"});
  else if (!anything && !survey.health.empty())
    into.add_host(
        survey,
        {"D12", CheckStatus::ok,
         any_nvlink ? What("links_right",
                           "all NVLinks are up, PCIe links have their maximum width and speed")
                    : What("pcie_right",
                           "PCIe links have their maximum width and speed; there are no NVLinks")});
}

} // namespace

void check_links(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    if (!survey.host)
      continue;
    bool anything = false;
    check_nvlinks(survey, into, anything);
    check_pcie(survey, into, anything);
    check_p2p(survey, into, anything);
    check_untold(survey, into, anything);
    check_peers(survey, into);
  }
}

} // namespace ncclprobe::analysis::doctor
