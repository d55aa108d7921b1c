// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D09, D10: NVSwitch fabric and multicast.
#include "analysis/doctor/facts.h"
#include "analysis/doctor/findings.h"
#include "topology/fabric_health.h"

#include <fmt/ranges.h>

#include <algorithm>

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

// Whether it found anything.
bool check_services(const model::Survey& survey, Findings& into) {
  const model::DriverSurvey& driver = survey.host->driver;
  bool running = fabric_manager_runs(survey);
  std::string version = driver_version(survey);
  bool differ = running && !driver.fabric_manager_version.empty() && !version.empty() &&
                driver.fabric_manager_version != version;
  if (differ)
    into.add_host(
        survey,
        {"D09",
         Severity::fail,
         "fabric manager and driver are of different versions",
         {fmt::format("fabric manager {}, driver {}", driver.fabric_manager_version, version)},
         "the fabric does not start: CUDA error 802 (system not yet initialized)",
         "apt-get install nvidia-fabricmanager-BRANCH=VERSION with the driver's version",
         {},
         {}});
  bool missing = !running && driver.nvswitches > 0;
  if (missing)
    into.add_host(survey, {"D09",
                           Severity::fail,
                           "this host has NVSwitches, but the fabric manager does not run",
                           {fmt::format("{} NVSwitches on the PCI bus", driver.nvswitches)},
                           "CUDA error 802 (system not yet initialized), or no NVLink between GPUs",
                           "systemctl enable --now nvidia-fabricmanager (administrator)",
                           {},
                           {}});
  return differ || missing;
}

void check_state(const model::Survey& survey, bool ill, Findings& into) {
  std::vector<std::string> ready;
  std::vector<std::string> untold;
  bool bad = ill;
  for (const GpuHealth& gpu : survey.health) {
    if (gpu.fabric_state.empty()) {
      note_untold(gpu, {{"its state in the fabric", is_pcie_card(gpu.name)}}, untold);
      continue;
    }
    if (gpu.fabric_state == "not_supported")
      continue;
    std::string problem = complaints(gpu);
    bool failed = gpu.fabric_state != "completed" || gpu.fabric_status.value_or(0) != 0;
    if (failed || !problem.empty()) {
      bad = true;
      into.add_host(
          survey,
          {"D09",
           Severity::fail,
           failed ? "a GPU has not joined the NVLink fabric" : "the NVLink fabric is not healthy",
           {fmt::format("{}: state {}, status {}{}", gpu_label(gpu), gpu.fabric_state,
                        shown(gpu.fabric_status), problem.empty() ? "" : "; " + problem)},
           "P2P over NVLink fails or is slow: NCCL hangs at the start or falls back",
           "nvidia-smi -q | grep -A4 Fabric; systemctl status nvidia-fabricmanager",
           {},
           {}});
    } else {
      ready.push_back(fmt::format("{}: completed", gpu_label(gpu)));
    }
  }
  if (!untold.empty())
    into.add_host(survey, {"D09",
                           Severity::unknown,
                           "NVML does not tell whether GPUs need a fabric, and have joined it",
                           untold,
                           "",
                           "nvidia-smi -q | grep -A4 Fabric",
                           {},
                           {}});
  if (bad)
    return;
  if (!ready.empty())
    into.add_host(survey, {"D09",
                           Severity::ok,
                           fmt::format("{} GPU(s) have joined the NVLink fabric", ready.size()),
                           {},
                           "",
                           "",
                           {},
                           {}});
  else if (untold.empty())
    into.add_host(survey, {"D09",
                           Severity::ok,
                           survey.host->driver.nvswitches > 0
                               ? "the fabric manager runs; these GPUs have no state in the fabric"
                               : "these GPUs need no fabric manager",
                           {},
                           "",
                           "",
                           {},
                           {}});
}

// What can be said without creating a multicast object, which we never do.
void check_multicast(const model::Survey& survey, Findings& into) {
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
  auto add = [&](Severity severity, const char* what, const char* cost, const char* fix) {
    into.add_host(survey, {"D10", severity, what, seen, cost, fix, {}, {}});
  };
  constexpr const char* k_look =
      "NCCL_DEBUG=INFO shows 'NVLS multicast support is available' at the start";
  if (nvls != nullptr && nvls->value == "0")
    add(Severity::info, "NVLS (reduction in the switch) is turned off",
        "all-reduce cannot use the switch's arithmetic", "");
  else if (told == 0)
    add(Severity::unknown, "whether the driver offers multicast is not known", "", k_look);
  else if (able == told)
    add(Severity::info, "the driver offers multicast (NVLS); whether it works was not tried", "",
        k_look);
  else
    add(Severity::info, "the driver offers no multicast on some GPUs: NVLS cannot be used", "",
        k_look);
}

} // namespace

void check_fabric(const Case& one, Findings& into) {
  for (const model::Survey& survey : one.surveys) {
    if (!survey.host || survey.health.empty())
      continue;
    bool ill = check_services(survey, into);
    check_state(survey, ill, into);
    check_multicast(survey, into);
  }
}

} // namespace ncclprobe::analysis::doctor
