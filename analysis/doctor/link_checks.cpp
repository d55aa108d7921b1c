// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D12, D13: links, and what stands in the way of GPUs that write to each other.
#include "analysis/doctor/facts.h"
#include "analysis/doctor/findings.h"
#include "knowledge/gpu_models.h"
#include "topology/paths.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

using model::GpuHealth;

constexpr std::uint64_t k_pcie_replays = 1000; // our limit

// NVML's throttle reason "GPU idle" (nvml.h, nvmlClocksEventReasonGpuIdle).
constexpr std::uint64_t k_idle = 0x1;

// Links that every GPU of this model has in use: those on an NVSwitch board. A card for bridges
// may have none.
std::optional<int> links_of_model(const std::string& name) {
  std::optional<int> links;
  for (const knowledge::GpuModel* model : knowledge::find_gpu_models(name)) {
    bool switched = model->nvlink && model->nvlink->via.find("NVSwitch") != std::string::npos;
    if (!switched || !model->nvlink->links || (links && *links != *model->nvlink->links))
      return std::nullopt;
    links = model->nvlink->links;
  }
  return links;
}

void check_nvlinks(const model::Survey& survey, Findings& into, bool& anything) {
  int most = 0;
  for (const GpuHealth& gpu : survey.health)
    most = std::max(most, gpu.active_nvlinks.value_or(0));
  for (const GpuHealth& gpu : survey.health) {
    if (!gpu.active_nvlinks || !gpu.nvlinks)
      continue;
    int up = *gpu.active_nvlinks;
    std::optional<int> published = links_of_model(gpu.name);
    // A GPU on its own may have been given without its links.
    bool some_down = up > 0 && up < *gpu.nvlinks;
    bool too_few = published && up < *published && (up > 0 || survey.health.size() > 1);
    if (!some_down && !too_few && up >= most)
      continue;
    anything = true;
    std::string seen = fmt::format("{}: {} of {} links are up", gpu_label(gpu), up, *gpu.nvlinks);
    if (up < most)
      seen += fmt::format("; others of this host have {}", most);
    if (too_few)
      seen += fmt::format("; this model has {}", *published);
    into.add_host(survey, {"D12",
                           Severity::fail,
                           "NVLinks are down",
                           {seen},
                           "bandwidth between these GPUs falls with the share of links",
                           "nvidia-smi nvlink -s; dmesg | grep -i xid (74); then the vendor",
                           {},
                           {}});
  }
}

// GPUs that could write to each other over NVLink or within a PCIe tree, and may not.
void check_p2p(const model::Survey& survey, Findings& into, bool& anything) {
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
      seen.push_back(fmt::format("GPU {} and GPU {}: {}, but CUDA says no", pair.from, pair.to,
                                 found.path.label()));
  }
  if (seen.empty())
    return;
  anything = true;
  into.add_host(survey,
                {"D12",
                 Severity::warn,
                 "GPUs that share NVLinks or a PCIe switch cannot reach each other's memory",
                 seen,
                 "NCCL sends their data through host memory",
                 "nvidia-smi topo -p2p r says why; ncclprobe topo shows the paths",
                 {},
                 {}});
}

void check_pcie(const model::Survey& survey, Findings& into, bool& anything) {
  for (const GpuHealth& gpu : survey.health) {
    bool narrow = gpu.pcie_width && gpu.most_pcie_width && *gpu.pcie_width < *gpu.most_pcie_width;
    bool slow = gpu.pcie_generation && gpu.most_pcie_generation &&
                *gpu.pcie_generation < *gpu.most_pcie_generation;
    std::string seen =
        fmt::format("{}: generation {} x{}, at most generation {} x{}", gpu_label(gpu),
                    gpu.pcie_generation.value_or(0), gpu.pcie_width.value_or(0),
                    gpu.most_pcie_generation.value_or(0), gpu.most_pcie_width.value_or(0));
    if (narrow) {
      anything = true;
      into.add_host(survey, {"D12",
                             Severity::warn,
                             "a PCIe link has fewer lanes than it could",
                             {seen},
                             "copies to and from the host are as much slower",
                             "reseat card and riser; look at the slot's settings in the BIOS",
                             {},
                             {}});
    } else if (slow && gpu.busy_percent.value_or(0) > 0 &&
               (gpu.throttle_reasons.value_or(k_idle) & k_idle) == 0) {
      anything = true;
      into.add_host(survey, {"D12",
                             Severity::warn,
                             "a busy GPU's PCIe link runs below its generation",
                             {fmt::format("{}; {} % busy", seen, *gpu.busy_percent)},
                             "copies to and from the host are as much slower",
                             "reseat card and riser; look at the slot's settings in the BIOS",
                             {},
                             {}});
    } else if (slow) {
      anything = true;
      // Idle GPUs save power so: only load shows the truth.
      into.add_host(survey, {"D12",
                             Severity::info,
                             "PCIe links run below their generation, as idle ones do",
                             {seen},
                             "none if they come up under load: --deep looks",
                             "ncclprobe doctor --deep",
                             {},
                             {}});
    }
    if (gpu.pcie_replays.value_or(0) > k_pcie_replays) {
      anything = true;
      into.add_host(survey, {"D12",
                             Severity::warn,
                             "a PCIe link repeats packets",
                             {fmt::format("{}: {} replays (our limit: {})", gpu_label(gpu),
                                          *gpu.pcie_replays, k_pcie_replays)},
                             "bandwidth to the host, and outliers",
                             "reseat card and riser",
                             {},
                             {}});
    }
  }
}

void check_peers(const model::Survey& survey, Findings& into) {
  const model::PciSurvey& pci = survey.host->pci;
  bool any_nvlink =
      std::any_of(survey.health.begin(), survey.health.end(),
                  [](const GpuHealth& gpu) { return gpu.active_nvlinks.value_or(0) > 0; });
  bool several = survey.inventory.gpus.size() > 1;
  bool concerned = (several && !any_nvlink) || !survey.host->rdma.empty();
  std::vector<std::string> redirecting;
  bool readable = pci.bridges.empty();
  for (const model::PciBridge& bridge : pci.bridges) {
    readable = readable || bridge.redirects_peers.has_value();
    if (bridge.redirects_peers == true)
      redirecting.push_back(bridge.address);
  }
  std::vector<std::string> seen;
  if (!pci.hypervisor.empty())
    seen.push_back("in a virtual machine: " + pci.hypervisor);
  if (!pci.iommu_words.empty())
    seen.push_back("kernel command line: " + pci.iommu_words);
  seen.push_back(fmt::format("{} IOMMU groups", pci.iommu_groups));
  if (!redirecting.empty() && pci.hypervisor.empty()) {
    std::size_t count = redirecting.size();
    seen.insert(seen.end(), redirecting.begin(), redirecting.end());
    into.add_host(
        survey, {"D13",
                 concerned ? Severity::warn : Severity::info,
                 fmt::format("{} PCI bridges send peers' traffic up to the root (ACS)", count),
                 seen,
                 "P2P over PCIe and GPUDirect RDMA go through the root complex: slow, and some "
                 "platforms hang",
                 "setpci -s ADDRESS ECAP_ACS+0x6.w=0000 for each (administrator, bare metal only)",
                 {},
                 {}});
    return;
  }
  bool full = pci.iommu_words.find("iommu=on") != std::string::npos &&
              pci.iommu_words.find("iommu=pt") == std::string::npos;
  if (full && pci.hypervisor.empty()) {
    into.add_host(survey, {"D13",
                           concerned ? Severity::warn : Severity::info,
                           "the IOMMU translates every device's addresses",
                           seen,
                           "P2P over PCIe may be slow, or give wrong data",
                           "iommu=pt on the kernel's command line, and reboot (administrator)",
                           {},
                           {}});
    return;
  }
  if (!readable && pci.hypervisor.empty())
    into.add_host(survey, {"D13",
                           Severity::unknown,
                           "ACS of PCI bridges can only be read by root",
                           seen,
                           "",
                           "sudo lspci -vvv | grep -i acsctl",
                           {},
                           {}});
  else
    into.add_host(survey,
                  {"D13",
                   Severity::ok,
                   pci.hypervisor.empty()
                       ? "nothing redirects traffic between devices"
                       : "what the hypervisor does between devices cannot be seen from inside",
                   seen,
                   "",
                   "",
                   {},
                   {}});
}

} // namespace

void check_links(const Case& one, Findings& into) {
  for (const model::Survey& survey : one.surveys) {
    if (!survey.host)
      continue;
    bool anything = false;
    check_nvlinks(survey, into, anything);
    check_pcie(survey, into, anything);
    check_p2p(survey, into, anything);
    if (!anything && !survey.health.empty())
      into.add_host(survey, {"D12",
                             Severity::ok,
                             "all NVLinks are up, PCIe links are at their best",
                             {},
                             "",
                             "",
                             {},
                             {}});
    check_peers(survey, into);
  }
}

} // namespace ncclprobe::analysis::doctor
