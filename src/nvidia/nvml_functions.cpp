// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nvml_functions.h"

namespace ncclprobe::nvidia {
namespace {

template <typename Function>
void look_up(const SharedLibrary& library, Function& function, const char* name) {
  function = library.optional<Function>(name);
}

} // namespace

NvmlFunctions::NvmlFunctions(const SharedLibrary& library) {
  look_up(library, error_string, "nvmlErrorString");
  look_up(library, memory_info, "nvmlDeviceGetMemoryInfo");
  look_up(library, nvlink_state, "nvmlDeviceGetNvLinkState");
  look_up(library, cuda_driver_version, "nvmlSystemGetCudaDriverVersion_v2");
  look_up(library, count, "nvmlDeviceGetCount_v2");
  look_up(library, by_index, "nvmlDeviceGetHandleByIndex_v2");
  look_up(library, pci_info, "nvmlDeviceGetPciInfo_v3");
  look_up(library, name, "nvmlDeviceGetName");
  look_up(library, uuid, "nvmlDeviceGetUUID");
  look_up(library, compute_capability, "nvmlDeviceGetCudaComputeCapability");
  look_up(library, ecc_mode, "nvmlDeviceGetEccMode");
  look_up(library, mig_mode, "nvmlDeviceGetMigMode");
  look_up(library, persistence_mode, "nvmlDeviceGetPersistenceMode");
  look_up(library, clock, "nvmlDeviceGetClockInfo");
  look_up(library, clock_max, "nvmlDeviceGetMaxClockInfo");
  look_up(library, power_limit, "nvmlDeviceGetPowerManagementLimit");
  look_up(library, power_limits, "nvmlDeviceGetPowerManagementLimitConstraints");
  look_up(library, pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  look_up(library, pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration");
  look_up(library, pcie_generation_gpu_max, "nvmlDeviceGetGpuMaxPcieLinkGeneration");
  look_up(library, pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  look_up(library, pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth");
  look_up(library, nvlink_version, "nvmlDeviceGetNvLinkVersion");
  look_up(library, nvlink_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
  look_up(library, nvlink_remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  look_up(library, field_values, "nvmlDeviceGetFieldValues");
  look_up(library, fabric_info, "nvmlDeviceGetGpuFabricInfo");
  look_up(library, fabric_info_v, "nvmlDeviceGetGpuFabricInfoV");
  look_up(library, cpu_affinity, "nvmlDeviceGetCpuAffinity");
  look_up(library, memory_affinity, "nvmlDeviceGetMemoryAffinity");
  look_up(library, common_ancestor, "nvmlDeviceGetTopologyCommonAncestor");
  look_up(library, p2p_status, "nvmlDeviceGetP2PStatus");
}

} // namespace ncclprobe::nvidia
