// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nvml_library.h"

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
  library_.require(init_, "nvmlInit_v2", "");
  library_.require(shutdown_, "nvmlShutdown", "");
  library_.require(error_string_, "nvmlErrorString", "");
  library_.require(nvml_version_, "nvmlSystemGetNVMLVersion", "");
  library_.require(driver_version_, "nvmlSystemGetDriverVersion", "");
  library_.require(device_by_pci_, "nvmlDeviceGetHandleByPciBusId_v2", "");
  library_.require(memory_info_, "nvmlDeviceGetMemoryInfo", "");
  library_.require(nvlink_state_, "nvmlDeviceGetNvLinkState", "");
  clock_info_ = library_.optional<decltype(clock_info_)>("nvmlDeviceGetClockInfo");
  temperature_ = library_.optional<decltype(temperature_)>("nvmlDeviceGetTemperature");
  power_usage_ = library_.optional<decltype(power_usage_)>("nvmlDeviceGetPowerUsage");
  clock_reasons_ =
      library_.optional<decltype(clock_reasons_)>("nvmlDeviceGetCurrentClocksEventReasons");
  if (clock_reasons_ == nullptr) // its name before driver 535
    clock_reasons_ =
        library_.optional<decltype(clock_reasons_)>("nvmlDeviceGetCurrentClocksThrottleReasons");
  field_values_ = library_.optional<decltype(field_values_)>("nvmlDeviceGetFieldValues");
  pcie_throughput_ = library_.optional<decltype(pcie_throughput_)>("nvmlDeviceGetPcieThroughput");
  running_processes_ = library_.optional<ListProcesses>("nvmlDeviceGetComputeRunningProcesses_v3");
  mps_processes_ = library_.optional<ListProcesses>("nvmlDeviceGetMPSComputeRunningProcesses_v3");
  memory_errors_ = library_.optional<decltype(memory_errors_)>("nvmlDeviceGetTotalEccErrors");
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
  nvmlMemory_t memory{};
  nvmlDevice_t gpu = device(pci_bus_id);
  if (gpu == nullptr || memory_info_(gpu, &memory) != NVML_SUCCESS)
    return std::nullopt;
  return memory.free;
}

std::optional<model::Condition> NvmlLibrary::condition(const std::string& pci_bus_id) const {
  nvmlDevice_t gpu = device(pci_bus_id);
  if (gpu == nullptr)
    return std::nullopt;
  auto number = [&](auto function, auto... what) -> std::optional<std::int32_t> {
    unsigned value = 0;
    if (function == nullptr || function(gpu, what..., &value) != NVML_SUCCESS)
      return std::nullopt;
    return static_cast<std::int32_t>(value);
  };
  model::Condition condition;
  condition.sm_clock_mhz = number(clock_info_, NVML_CLOCK_SM);
  condition.memory_clock_mhz = number(clock_info_, NVML_CLOCK_MEM);
  condition.temperature_c = number(temperature_, NVML_TEMPERATURE_GPU);
  condition.power_mw = number(power_usage_);
  unsigned long long bits = 0;
  if (clock_reasons_ != nullptr && clock_reasons_(gpu, &bits) == NVML_SUCCESS)
    condition.throttle_reasons = bits;
  nvmlMemory_t memory{};
  if (memory_info_(gpu, &memory) == NVML_SUCCESS)
    condition.memory_used_bytes = memory.used;
  if (condition == model::Condition{})
    return std::nullopt;
  return condition;
}

void NvmlLibrary::read_traffic(const std::string& pci_bus_id, model::Condition& into) const {
  nvmlDevice_t gpu = device(pci_bus_id);
  if (gpu == nullptr)
    return;
  if (field_values_ != nullptr) {
    std::array<nvmlFieldValue_t, 2> fields{};
    fields[0].fieldId = NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX;
    fields[1].fieldId = NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX;
    for (nvmlFieldValue_t& field : fields)
      field.scopeId = NVML_ALL_LINKS;
    if (field_values_(gpu, static_cast<int>(fields.size()), fields.data()) == NVML_SUCCESS) {
      auto bytes = [](const nvmlFieldValue_t& field) -> std::optional<std::uint64_t> {
        if (field.nvmlReturn != NVML_SUCCESS ||
            field.valueType != NVML_VALUE_TYPE_UNSIGNED_LONG_LONG)
          return std::nullopt;
        return field.value.ullVal * 1024; // counted in KiB
      };
      into.nvlink_sent_bytes = bytes(fields[0]);
      into.nvlink_received_bytes = bytes(fields[1]);
    }
  }
  auto pcie = [&](nvmlPcieUtilCounter_t counter) -> std::optional<std::int32_t> {
    unsigned kb_per_s = 0;
    if (pcie_throughput_ == nullptr || pcie_throughput_(gpu, counter, &kb_per_s) != NVML_SUCCESS)
      return std::nullopt;
    return static_cast<std::int32_t>(kb_per_s / 1000);
  };
  into.pcie_sent_mb_per_s = pcie(NVML_PCIE_UTIL_TX_BYTES);
  into.pcie_received_mb_per_s = pcie(NVML_PCIE_UTIL_RX_BYTES);
}

void NvmlLibrary::read_company(const std::string& pci_bus_id, model::Condition& into) const {
  nvmlDevice_t gpu = device(pci_bus_id);
  if (gpu == nullptr)
    return;
  auto listed = [&](ListProcesses list) -> std::optional<std::vector<unsigned>> {
    std::array<nvmlProcessInfo_t, 256> processes{}; // of more, there is none to see: the call fails
    auto count = static_cast<unsigned>(processes.size());
    if (list == nullptr || list(gpu, &count, processes.data()) != NVML_SUCCESS)
      return std::nullopt;
    std::vector<unsigned> ids;
    for (unsigned i = 0; i < std::min<std::size_t>(count, processes.size()); ++i)
      ids.push_back(processes[i].pid);
    return ids;
  };
  if (auto running = listed(running_processes_))
    into.processes = computing(*running, listed(mps_processes_).value_or(std::vector<unsigned>{}));
  auto errors = [&](nvmlMemoryErrorType_t type) -> std::optional<std::uint64_t> {
    unsigned long long count = 0;
    if (memory_errors_ == nullptr ||
        memory_errors_(gpu, type, NVML_VOLATILE_ECC, &count) != NVML_SUCCESS)
      return std::nullopt;
    return count;
  };
  into.corrected_errors = errors(NVML_MEMORY_ERROR_TYPE_CORRECTED);
  into.uncorrected_errors = errors(NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
}

std::optional<int> NvmlLibrary::active_nvlinks(const std::string& pci_bus_id) const {
  nvmlDevice_t gpu = device(pci_bus_id);
  if (gpu == nullptr)
    return std::nullopt;
  int active = 0;
  bool told = false;
  for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
    nvmlEnableState_t state = NVML_FEATURE_DISABLED;
    if (nvlink_state_(gpu, link, &state) != NVML_SUCCESS)
      continue;
    told = true;
    if (state == NVML_FEATURE_ENABLED)
      ++active;
  }
  if (!told)
    return std::nullopt;
  return active;
}

} // namespace ncclprobe::nvidia
