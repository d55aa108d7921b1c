// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nvml_gpu.h"

namespace ncclprobe::nvidia {
namespace {

template <typename Info>
NvmlFabric fabric_from(const Info& info) {
  NvmlFabric fabric;
  fabric.state = info.state;
  fabric.status = info.status;
  fabric.clique = info.cliqueId;
  for (std::size_t i = 0; i < std::size(info.clusterUuid); ++i)
    fabric.cluster_uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                       info.clusterUuid[i]);
  return fabric;
}

} // namespace

std::vector<nvmlDevice_t> nvml_devices(const NvmlLibrary& nvml,
                                       std::vector<std::string>& complaints) {
  const SharedLibrary& library = nvml.library();
  nvmlReturn_t (*count_of)(unsigned*) = library.optional("nvmlDeviceGetCount_v2");
  nvmlReturn_t (*device_of)(unsigned, nvmlDevice_t*) =
      library.optional("nvmlDeviceGetHandleByIndex_v2");
  unsigned count = 0;
  std::vector<nvmlDevice_t> devices;
  if (count_of == nullptr || device_of == nullptr || count_of(&count) != NVML_SUCCESS)
    return devices;
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = nullptr;
    if (nvmlReturn_t code = device_of(i, &device); code != NVML_SUCCESS) {
      device = nullptr;
      complaints.push_back(fmt::format("GPU {}: NVML counts it but cannot open it: {}: lost?", i,
                                       nvml.error_text(code)));
    }
    devices.push_back(device);
  }
  return devices;
}

std::optional<std::vector<NvmlNvLink>> read_nvlinks(const NvmlGpu& gpu) {
  std::vector<NvmlNvLink> links;
  bool answered = true; // "you have no such link" is an answer, a lost GPU gives none
  for (unsigned number = 0; number < NVML_NVLINK_MAX_LINKS; ++number) {
    nvmlEnableState_t active = NVML_FEATURE_DISABLED;
    auto code = gpu.code("nvmlDeviceGetNvLinkState", number, &active);
    if (code == NVML_SUCCESS)
      links.push_back({number, active == NVML_FEATURE_ENABLED});
    else if (code == NVML_ERROR_NOT_SUPPORTED && number == 0)
      break;
    else
      answered =
          answered && (code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_INVALID_ARGUMENT);
  }
  if (links.empty() && !answered)
    return std::nullopt;
  return links;
}

std::optional<NvmlFabric> read_fabric(const NvmlGpu& gpu) {
  nvmlGpuFabricInfo_v2_t info{};
  info.version = nvmlGpuFabricInfo_v2;
  if (gpu.call("nvmlDeviceGetGpuFabricInfoV", &info)) {
    NvmlFabric fabric = fabric_from(info);
    fabric.health = info.healthMask;
    return fabric;
  }
  if (auto before = gpu.get<nvmlGpuFabricInfo_t>("nvmlDeviceGetGpuFabricInfo"))
    return fabric_from(*before);
  return std::nullopt;
}

std::optional<std::string> fabric_state_name(nvmlGpuFabricState_t state) {
  constexpr std::array k_states{"not_supported", "not_started", "in_progress", "completed"};
  return state < k_states.size() ? std::optional<std::string>(k_states[state]) : std::nullopt;
}

} // namespace ncclprobe::nvidia
