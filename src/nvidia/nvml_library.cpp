// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nvml_library.h"

#include "nvidia/nvml_gpu.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace ncclprobe::nvidia {
namespace {

std::string text_from(nvmlReturn_t (*function)(char*, unsigned)) {
  std::array<char, 96> text{}; // NVML requires 80
  return function(text.data(), text.size()) == NVML_SUCCESS ? text.data() : "";
}

// Clients of MPS are listed separately; some drivers also list them among the other processes. The
// MPS server is one of the others.
std::int32_t computing(const std::vector<unsigned>& running, const std::vector<unsigned>& clients) {
  auto others = std::ranges::count_if(
      running, [&](unsigned id) { return std::ranges::find(clients, id) == clients.end(); });
  if (!clients.empty() && others > 0)
    --others;
  return static_cast<std::int32_t>(others + std::ssize(clients));
}

} // namespace

NvmlLibrary::NvmlLibrary(const backend::Options& options)
    : library_("NVML", library_candidates(options, "nvml", {"libnvidia-ml.so.1"}),
               "it comes with the NVIDIA driver") {
  if (nvmlReturn_t code = init_(); code != NVML_SUCCESS)
    raise(Errc::unavailable, "NVML at {} does not start: {}", library_.path(), error_string_(code));
}

NvmlLibrary::~NvmlLibrary() {
  (void)shutdown_();
}

std::string NvmlLibrary::version() const {
  return text_from(nvml_version_);
}
std::string NvmlLibrary::driver_version() const {
  return text_from(driver_version_);
}

nvmlDevice_t NvmlLibrary::device(const std::string& pci_bus_id) const {
  nvmlDevice_t found = nullptr;
  return device_by_pci_(pci_bus_id.c_str(), &found) == NVML_SUCCESS ? found : nullptr;
}

std::optional<std::uint64_t> NvmlLibrary::free_bytes(const std::string& pci_bus_id) const {
  NvmlGpu gpu(*this, device(pci_bus_id));
  auto memory = gpu.get<nvmlMemory_t>("nvmlDeviceGetMemoryInfo");
  return memory ? std::optional(memory->free) : std::nullopt;
}

std::optional<model::Condition> NvmlLibrary::condition(const std::string& pci_bus_id) const {
  NvmlGpu gpu(*this, device(pci_bus_id));
  model::Condition condition;
  condition.sm_clock_mhz = gpu.number("nvmlDeviceGetClockInfo", nvmlClockType_t{NVML_CLOCK_SM});
  condition.memory_clock_mhz =
      gpu.number("nvmlDeviceGetClockInfo", nvmlClockType_t{NVML_CLOCK_MEM});
  condition.temperature_c =
      gpu.number("nvmlDeviceGetTemperature", nvmlTemperatureSensors_t{NVML_TEMPERATURE_GPU});
  condition.power_mw = gpu.number("nvmlDeviceGetPowerUsage");
  condition.energy_mj = gpu.get<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption");
  for (const char* name : {"nvmlDeviceGetCurrentClocksEventReasons",
                           "nvmlDeviceGetCurrentClocksThrottleReasons"}) // before driver 535
    if (!condition.throttle_reasons)
      condition.throttle_reasons = gpu.get<unsigned long long>(name);
  if (auto memory = gpu.get<nvmlMemory_t>("nvmlDeviceGetMemoryInfo"))
    condition.memory_used_bytes = memory->used;
  if (condition == model::Condition{})
    return std::nullopt;
  return condition;
}

void NvmlLibrary::read_traffic(const std::string& pci_bus_id, model::Condition& into) const {
  NvmlGpu gpu(*this, device(pci_bus_id));
  std::array<nvmlFieldValue_t, 2> fields{};
  fields[0].fieldId = NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX;
  fields[1].fieldId = NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX;
  for (nvmlFieldValue_t& field : fields)
    field.scopeId = NVML_ALL_LINKS;
  if (gpu.call("nvmlDeviceGetFieldValues", static_cast<int>(fields.size()), fields.data())) {
    auto bytes = [](const nvmlFieldValue_t& field) -> std::optional<std::uint64_t> {
      if (field.nvmlReturn != NVML_SUCCESS || field.valueType != NVML_VALUE_TYPE_UNSIGNED_LONG_LONG)
        return std::nullopt;
      return field.value.ullVal * 1024; // counted in KiB
    };
    into.nvlink_sent_bytes = bytes(fields[0]);
    into.nvlink_received_bytes = bytes(fields[1]);
  }
  auto mb_per_s = [&](nvmlPcieUtilCounter_t counter) -> std::optional<std::int32_t> {
    auto kb_per_s = gpu.number("nvmlDeviceGetPcieThroughput", counter);
    return kb_per_s ? std::optional(*kb_per_s / 1000) : std::nullopt;
  };
  into.pcie_sent_mb_per_s = mb_per_s(NVML_PCIE_UTIL_TX_BYTES);
  into.pcie_received_mb_per_s = mb_per_s(NVML_PCIE_UTIL_RX_BYTES);
}

void NvmlLibrary::read_company(const std::string& pci_bus_id, model::Condition& into) const {
  NvmlGpu gpu(*this, device(pci_bus_id));
  auto listed = [&](const char* list) -> std::optional<std::vector<unsigned>> {
    std::array<nvmlProcessInfo_t, 256> processes{}; // of more, there is none to see: the call fails
    auto count = static_cast<unsigned>(processes.size());
    if (!gpu.call(list, &count, processes.data()))
      return std::nullopt;
    std::vector<unsigned> ids;
    for (unsigned i = 0; i < std::min<std::size_t>(count, processes.size()); ++i)
      ids.push_back(processes[i].pid);
    return ids;
  };
  if (auto running = listed("nvmlDeviceGetComputeRunningProcesses_v3"))
    into.processes = computing(
        *running,
        listed("nvmlDeviceGetMPSComputeRunningProcesses_v3").value_or(std::vector<unsigned>{}));
  auto errors = [&](nvmlMemoryErrorType_t type) {
    return gpu.get<unsigned long long>("nvmlDeviceGetTotalEccErrors", type,
                                       nvmlEccCounterType_t{NVML_VOLATILE_ECC});
  };
  into.corrected_errors = errors(NVML_MEMORY_ERROR_TYPE_CORRECTED);
  into.uncorrected_errors = errors(NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
}

std::optional<int> NvmlLibrary::active_nvlinks(const std::string& pci_bus_id) const {
  NvmlGpu gpu(*this, device(pci_bus_id));
  std::optional<int> active;
  for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link)
    if (auto state = gpu.get<nvmlEnableState_t>("nvmlDeviceGetNvLinkState", link))
      active = active.value_or(0) + (*state == NVML_FEATURE_ENABLED ? 1 : 0);
  return active;
}

} // namespace ncclprobe::nvidia
