// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nvml_health.h"

#include "nvidia/nvml_gpu.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ncclprobe::nvidia {
namespace {

using model::GpuHealth;
using model::NvLinkErrors;

void read_identity(const NvmlGpu& ask, GpuHealth& into) {
  into.name = ask.text("nvmlDeviceGetName").value_or("");
  into.uuid = ask.text("nvmlDeviceGetUUID").value_or("");
  into.vbios = ask.text("nvmlDeviceGetVbiosVersion").value_or("");
  if (auto pci = ask.get<nvmlPciInfo_t>("nvmlDeviceGetPciInfo_v3"))
    into.pci_bus_id = std::string(pci->busId, ::strnlen(pci->busId, sizeof pci->busId));
}

void read_memory_errors(const NvmlGpu& ask, GpuHealth& into) {
  nvmlEnableState_t now = NVML_FEATURE_DISABLED;
  nvmlEnableState_t later = NVML_FEATURE_DISABLED;
  if (ask.call("nvmlDeviceGetEccMode", &now, &later)) {
    into.ecc_on = now == NVML_FEATURE_ENABLED;
    into.ecc_on_after_reset = later == NVML_FEATURE_ENABLED;
  }
  auto count = [&](nvmlMemoryErrorType_t type,
                   nvmlEccCounterType_t since) -> std::optional<std::uint64_t> {
    return ask.get<unsigned long long>("nvmlDeviceGetTotalEccErrors", type, since);
  };
  into.corrected_since_reset = count(NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC);
  into.uncorrected_since_reset = count(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC);
  into.corrected_ever = count(NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC);
  into.uncorrected_ever = count(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC);

  for (nvmlPageRetirementCause_t cause : {NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS,
                                          NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR}) {
    unsigned pages = 0; // no room for addresses: returns only the number
    unsigned long long* nowhere = nullptr;
    if (ask.call("nvmlDeviceGetRetiredPages", cause, &pages, nowhere) || pages > 0)
      into.retired_pages = into.retired_pages.value_or(0) + static_cast<int>(pages);
  }
  into.retirement_pending = ask.enabled("nvmlDeviceGetRetiredPagesPendingStatus");

  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (ask.call("nvmlDeviceGetRemappedRows", &corrected, &uncorrected, &pending, &failed)) {
    into.remapped_rows_corrected = static_cast<int>(corrected);
    into.remapped_rows_uncorrected = static_cast<int>(uncorrected);
    into.remap_pending = pending != 0;
    into.remap_failed = failed != 0;
  }
}

void read_speed(const NvmlGpu& ask, GpuHealth& into) {
  auto bits = ask.get<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons");
  if (!bits) // its name before driver 535
    bits = ask.get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons");
  into.throttle_reasons = bits;
  into.sm_clock_mhz = ask.number("nvmlDeviceGetClockInfo", NVML_CLOCK_SM);
  into.most_sm_clock_mhz = ask.number("nvmlDeviceGetMaxClockInfo", NVML_CLOCK_SM);
  into.memory_clock_mhz = ask.number("nvmlDeviceGetClockInfo", NVML_CLOCK_MEM);
  into.most_memory_clock_mhz = ask.number("nvmlDeviceGetMaxClockInfo", NVML_CLOCK_MEM);
  into.temperature_c = ask.number("nvmlDeviceGetTemperature", NVML_TEMPERATURE_GPU);
  into.slowdown_temperature_c =
      ask.number("nvmlDeviceGetTemperatureThreshold", NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
  into.power_mw = ask.number("nvmlDeviceGetPowerUsage");
  into.power_limit_mw = ask.number("nvmlDeviceGetEnforcedPowerLimit");
  into.default_power_limit_mw = ask.number("nvmlDeviceGetPowerManagementDefaultLimit");
  if (auto use = ask.get<nvmlUtilization_t>("nvmlDeviceGetUtilizationRates"))
    into.busy_percent = static_cast<int>(use->gpu);
  if (auto memory = ask.get<nvmlMemory_t>("nvmlDeviceGetMemoryInfo")) {
    into.memory_bytes = memory->total;
    into.free_bytes = memory->free;
  }
}

std::string compute_mode_text(std::optional<int> mode) {
  constexpr std::array<const char*, 4> k_names{"default", "exclusive_thread", "prohibited",
                                               "exclusive_process"};
  return mode && *mode >= 0 && static_cast<std::size_t>(*mode) < k_names.size() ? k_names[*mode]
                                                                                : "";
}

std::optional<std::vector<nvmlProcessInfo_t>> processes(const NvmlGpu& ask, const char* function) {
  std::vector<nvmlProcessInfo_t> found(256); // of more, there is none to see: the call fails
  auto count = static_cast<unsigned>(found.size());
  if (!ask.call(function, &count, found.data()))
    return std::nullopt;
  found.resize(std::min<std::size_t>(count, found.size()));
  return found;
}

void read_sharing(const NvmlGpu& ask, GpuHealth& into) {
  into.persistence = ask.enabled("nvmlDeviceGetPersistenceMode");
  into.compute_mode = compute_mode_text(ask.get<int>("nvmlDeviceGetComputeMode"));
  unsigned mig = 0;
  unsigned mig_later = 0;
  if (ask.call("nvmlDeviceGetMigMode", &mig, &mig_later))
    into.mig = mig != 0;

  auto own = processes(ask, "nvmlDeviceGetComputeRunningProcesses_v3");
  auto mps = processes(ask, "nvmlDeviceGetMPSComputeRunningProcesses_v3");
  if (mps)
    into.mps_clients = !mps->empty();
  if (!own)
    return;
  nvmlReturn_t (*name_of)(unsigned, char*, unsigned) =
      ask.nvml().library().optional("nvmlSystemGetProcessName");
  into.processes.emplace();
  for (const nvmlProcessInfo_t& one : *own) {
    model::GpuProcess process;
    process.pid = static_cast<int>(one.pid);
    std::array<char, 256> name{};
    if (name_of != nullptr &&
        name_of(one.pid, name.data(), static_cast<unsigned>(name.size())) == NVML_SUCCESS)
      process.name = name.data();
    if (one.usedGpuMemory != NVML_VALUE_NOT_AVAILABLE)
      process.used_bytes = one.usedGpuMemory;
    into.processes->push_back(std::move(process));
  }
}

void read_pcie(const NvmlGpu& ask, GpuHealth& into) {
  into.pcie_generation = ask.number("nvmlDeviceGetCurrPcieLinkGeneration");
  into.most_pcie_generation = ask.number("nvmlDeviceGetMaxPcieLinkGeneration");
  into.pcie_width = ask.number("nvmlDeviceGetCurrPcieLinkWidth");
  into.most_pcie_width = ask.number("nvmlDeviceGetMaxPcieLinkWidth");
  into.pcie_replays = ask.get<unsigned>("nvmlDeviceGetPcieReplayCounter");
}

// NVLink 5 uses separate fields; the older counters then return "not supported".
std::optional<std::uint64_t> field(const NvmlGpu& ask, unsigned id, unsigned link) {
  nvmlFieldValue_t value{};
  value.fieldId = id;
  value.scopeId = link;
  if (!ask.call("nvmlDeviceGetFieldValues", 1, &value) || value.nvmlReturn != NVML_SUCCESS)
    return std::nullopt;
  switch (value.valueType) {
  case NVML_VALUE_TYPE_UNSIGNED_INT:
    return value.value.uiVal;
  case NVML_VALUE_TYPE_UNSIGNED_LONG:
  case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
    return value.value.ullVal;
  default:
    return std::nullopt;
  }
}

std::optional<std::uint64_t> sum(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  return a || b ? std::optional(a.value_or(0) + b.value_or(0)) : std::nullopt;
}

void add_nvlinks(const NvmlGpu& ask, GpuHealth& into) {
  auto links = read_nvlinks(ask);
  if (!links)
    return;
  into.nvlinks = static_cast<int>(links->size());
  into.active_nvlinks = static_cast<int>(std::ranges::count(*links, true, &NvmlNvLink::active));
  for (const NvmlNvLink& one : *links) {
    unsigned link = one.number;
    auto count = [&](nvmlNvLinkErrorCounter_t counter) -> std::optional<std::uint64_t> {
      return ask.get<unsigned long long>("nvmlDeviceGetNvLinkErrorCounter", link, counter);
    };
    NvLinkErrors errors;
    errors.link = static_cast<int>(link);
    errors.replays = count(NVML_NVLINK_ERROR_DL_REPLAY);
    errors.recoveries = count(NVML_NVLINK_ERROR_DL_RECOVERY);
    errors.crc_errors =
        sum(count(NVML_NVLINK_ERROR_DL_CRC_FLIT), count(NVML_NVLINK_ERROR_DL_CRC_DATA));
    if (!errors.recoveries)
      errors.recoveries = field(ask, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, link);
    if (!errors.crc_errors)
      errors.receive_errors = field(ask, NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS, link);
    if (errors.replays || errors.recoveries || errors.crc_errors || errors.receive_errors)
      into.nvlink_errors.push_back(errors);
  }
}

void read_fabric(const NvmlGpu& ask, GpuHealth& into) {
  auto fabric = nvidia::read_fabric(ask);
  if (!fabric)
    return;
  into.fabric_health = fabric->health;
  into.fabric_state = fabric_state_name(fabric->state).value_or("");
  if (fabric->state != NVML_GPU_FABRIC_STATE_COMPLETED)
    return;
  into.fabric_status = fabric->status;
  into.fabric_clique = fabric->clique;
  into.fabric_cluster = fabric->cluster_uuid;
}

} // namespace

std::vector<GpuHealth> read_health(const NvmlLibrary& nvml) {
  std::vector<std::string> complaints; // a missing value says as much
  std::vector<nvmlDevice_t> devices = nvml_devices(nvml, complaints);
  std::vector<GpuHealth> found;
  for (std::size_t index = 0; index < devices.size(); ++index) {
    GpuHealth& one = found.emplace_back();
    one.index = static_cast<int>(index);
    if (devices[index] == nullptr) // it fell off the bus: nothing more is known
      continue;
    NvmlGpu ask(nvml, devices[index]);
    read_identity(ask, one);
    read_memory_errors(ask, one);
    read_speed(ask, one);
    read_sharing(ask, one);
    read_pcie(ask, one);
    add_nvlinks(ask, one);
    read_fabric(ask, one);
  }
  return found;
}

} // namespace ncclprobe::nvidia
