// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D09, D10: NVSwitch fabric and multicast.
#include "machine/fabric_health.h"

#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "base/text_layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

using model::GpuHealth;

std::string complaints(const GpuHealth& gpu) {
  auto found = gpu.fabric_health ? topology::fabric_complaints(*gpu.fabric_health) : std::nullopt;
  return found ? fmt::format("{}", fmt::join(*found, ", ")) : "";
}

bool fabric_manager_runs(const model::Survey& survey) {
  const std::vector<std::string>& services = survey.host->driver.services;
  return std::find(services.begin(), services.end(), "nv-fabricmanager") != services.end();
}

bool has_joined(const GpuHealth& gpu) {
  return gpu.fabric_state == "completed" && gpu.fabric_status.value_or(0) == 0;
}

// As in virtual machines whose host manages the switches.
bool has_hidden_switches(const model::Survey& survey) {
  auto leads_to_switch = [](const topology::NvLink& link) {
    return link.remote.value == topology::RemoteKind::nvswitch;
  };
  const std::vector<topology::Gpu>& gpus = survey.inventory.topology.gpus;
  return survey.host->driver.nvswitches == 0 &&
         std::any_of(gpus.begin(), gpus.end(), [&](const topology::Gpu& gpu) {
           return gpu.nvlinks &&
                  std::any_of(gpu.nvlinks->begin(), gpu.nvlinks->end(), leads_to_switch);
         });
}

enum class Manager { well, ill, not_seen };

// GPUs that have joined prove that a fabric manager runs, even if it is not visible. A container
// shows the host's switches but not its processes, and a virtual machine's fabric may be managed
// from outside.
Manager check_services(const model::Survey& survey, CheckResults& into) {
  const model::DriverSurvey& driver = survey.host->driver;
  bool running = fabric_manager_runs(survey);
  std::string version = driver_version(survey);
  bool differ = running && !driver.fabric_manager_version.empty() && !version.empty() &&
                driver.fabric_manager_version != version;
  if (differ)
    into.add_host(
        survey,
        {"D09",
         CheckStatus::fail,
         {"fabric_manager_mismatch", "fabric manager and driver have different versions"},
         {fmt::format("fabric manager {}, driver {}", driver.fabric_manager_version, version)},
         "the fabric does not start: CUDA error 802 (system not yet initialized)",
         "apt-get install nvidia-fabricmanager-BRANCH=VERSION with the driver's version"});
  bool missing = !running && driver.nvswitches > 0 &&
                 !std::all_of(survey.health.begin(), survey.health.end(), has_joined);
  if (!missing)
    return differ ? Manager::ill : Manager::well;
  std::string seen = fmt::format("{} NVSwitches on the PCI bus", driver.nvswitches);
  const std::string& container = survey.process.confinement.container;
  const std::string& hypervisor = survey.host->pci.hypervisor;
  if (container.empty() && hypervisor.empty()) {
    into.add_host(survey, {"D09",
                           CheckStatus::fail,
                           {"fabric_manager_missing",
                            "this host has NVSwitches, but the fabric manager is not running"},
                           {seen},
                           "CUDA error 802 (system not yet initialized), or no NVLink between GPUs",
                           "systemctl enable --now nvidia-fabricmanager (administrator)"});
    return Manager::ill;
  }
  // The GPUs' own reports are more reliable.
  if (std::none_of(survey.health.begin(), survey.health.end(), tells_fabric_state))
    into.add_host(
        survey, {"D09",
                 CheckStatus::unknown,
                 container.empty()
                     ? What("fabric_manager_of_host",
                            "no fabric manager runs in this virtual machine; its host may run one")
                     : What("fabric_manager_hidden",
                            "this container cannot see whether the host's fabric manager runs"),
                 {seen, container.empty() ? "in a virtual machine: " + hypervisor
                                          : "a container: " + container},
                 "",
                 "on the host: systemctl status nvidia-fabricmanager"});
  return Manager::not_seen;
}

void check_state(const model::Survey& survey, Manager manager, CheckResults& into) {
  std::vector<std::string> ready;
  std::vector<std::string> untold;
  bool bad = manager == Manager::ill;
  for (const GpuHealth& gpu : survey.health) {
    if (gpu.fabric_state.empty()) {
      note_untold(gpu, {{"its state in the fabric", is_pcie_card(gpu.name)}}, untold);
      continue;
    }
    if (gpu.fabric_state == "not_supported")
      continue;
    std::string problem = complaints(gpu);
    bool failed = !has_joined(gpu);
    if (failed || !problem.empty()) {
      bad = true;
      into.add_host(
          survey,
          {"D09",
           CheckStatus::fail,
           failed ? What("fabric_not_joined", "a GPU has not joined the NVLink fabric")
                  : What("fabric_unhealthy", "the NVLink fabric is not healthy"),
           {fmt::format("{}: state {}, status {}{}", gpu_label(gpu), gpu.fabric_state,
                        shown(gpu.fabric_status), problem.empty() ? "" : "; " + problem)},
           "P2P over NVLink fails or is slow: NCCL hangs at the start or falls back",
           survey.host->pci.hypervisor.empty()
               ? "nvidia-smi -q | grep -A4 Fabric; systemctl status nvidia-fabricmanager"
               : "nvidia-smi -q | grep -A4 Fabric; systemctl status nvidia-fabricmanager, here or "
                 "on the virtual machine's host"});
    } else {
      ready.push_back(fmt::format("{}: completed", gpu_label(gpu)));
    }
  }
  if (!untold.empty())
    into.add_host(survey, {"D09",
                           CheckStatus::unknown,
                           {"fabric_state_unknown",
                            "NVML does not report whether GPUs need a fabric and have joined it"},
                           untold,
                           "",
                           "nvidia-smi -q | grep -A4 Fabric"});
  if (bad)
    return;
  if (!ready.empty())
    into.add_host(survey, {"D09", CheckStatus::ok,
                           What("fabric_joined", "{gpus} joined the NVLink fabric",
                                {{"gpus", base::count_of(ready.size(), "GPU has", "GPUs have")}})});
  else if (untold.empty() && manager == Manager::well && has_hidden_switches(survey))
    into.add_host(survey, {"D09",
                           CheckStatus::info,
                           {"nvswitches_hidden",
                            "NVLinks lead to NVSwitches that are not visible here, and these GPUs "
                            "report no fabric state"}});
  else if (untold.empty() && manager == Manager::well)
    into.add_host(survey, {"D09", CheckStatus::ok,
                           survey.host->driver.nvswitches > 0
                               ? What("fabric_manager_runs",
                                      "the fabric manager runs; these GPUs have no fabric state")
                               : What("fabric_not_needed", "these GPUs need no fabric manager")});
}

// What is known without creating a multicast object, which this program never does.
void check_multicast(const model::Survey& survey, CheckResults& into) {
  bool hopper =
      std::any_of(survey.inventory.gpus.begin(), survey.inventory.gpus.end(),
                  [](const auto& gpu) { return std::atoi(gpu.compute_capability.c_str()) >= 9; });
  if (!hopper)
    return;
  std::vector<std::string> seen;
  std::size_t able = 0;
  std::size_t told = 0;
  for (const GpuHealth& gpu : survey.health)
    if (gpu.multicast) {
      ++told;
      able += *gpu.multicast ? 1 : 0;
      seen.push_back(fmt::format("{}: CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED = {}", gpu_label(gpu),
                                 *gpu.multicast ? 1 : 0));
    }
  const model::Setting* nvls = survey.variable("NCCL_NVLS_ENABLE");
  if (nvls != nullptr)
    seen.insert(seen.begin(), "NCCL_NVLS_ENABLE=" + nvls->value);
  auto add = [&](CheckStatus status, const What& what, const char* cost, const char* fix) {
    into.add_host(survey, {"D10", status, what, seen, cost, fix});
  };
  constexpr const char* k_look =
      "NCCL_DEBUG=INFO shows 'NVLS multicast support is available' at the start";
  if (nvls != nullptr && nvls->value == "0")
    add(CheckStatus::info, {"nvls_disabled", "NVLS (reduction in the switch) is disabled"},
        "all-reduce cannot use the switch's arithmetic", "");
  else if (told == 0)
    add(CheckStatus::unknown,
        {"multicast_unknown", "whether the driver supports multicast is unknown"}, "", k_look);
  else if (able == told)
    add(CheckStatus::info,
        {"multicast_supported", "the driver supports multicast (NVLS); it was not tried"}, "",
        k_look);
  else
    add(CheckStatus::info,
        {"multicast_unsupported",
         "the driver supports no multicast on some GPUs: NVLS cannot be used"},
        "", k_look);
}

// NVLink between hosts: GPUs in a cluster, the daemon that exports their memory, and the channel
// through which a process imports it.
void check_imex(const model::Survey& survey, CheckResults& into) {
  std::set<std::string> cliques;
  for (const GpuHealth& gpu : survey.health)
    if (in_cluster(gpu))
      cliques.insert(
          fmt::format("cluster {}, clique {}", gpu.fabric_cluster, shown(gpu.fabric_clique)));
  const model::DriverSurvey& driver = survey.host->driver;
  std::size_t channels = count_imex_channels(driver);
  bool daemon = std::find(driver.services.begin(), driver.services.end(), "nvidia-imex") !=
                driver.services.end();
  if (cliques.empty() && channels == 0 && !daemon)
    return;
  std::vector<std::string> seen(cliques.begin(), cliques.end());
  if (cliques.empty())
    seen.emplace_back("NVML reports no cluster for this host's GPUs");
  seen.emplace_back(daemon ? "nvidia-imex runs" : "no nvidia-imex process is visible here");
  seen.push_back(fmt::format(
      "{} in {}", base::count_of(static_cast<std::size_t>(channels), "channel", "channels"),
      k_imex_channels));
  bool ready = !cliques.empty() && channels > 0;
  into.add_host(
      survey, {"D10", CheckStatus::info,
               ready ? What("imex_ready",
                            "these GPUs can belong to an NVLink domain of several hosts (IMEX)")
                     : What("imex_incomplete", "NVLink between hosts (IMEX) is only partly set up"),
               seen, ready ? "" : "NCCL uses the network between hosts, not NVLink",
               "nvidia-imex-ctl -N shows the domain"});
}

} // namespace

void check_fabric(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    if (!survey.host || survey.health.empty())
      continue;
    Manager manager = check_services(survey, into);
    check_state(survey, manager, into);
    check_multicast(survey, into);
    check_imex(survey, into);
  }
}

} // namespace ncclprobe::analysis::doctor
