// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/nvml_api.h"
#include "nvidia/shared_library.h"

namespace ncclprobe::nvidia {

// What NVML can tell of a machine's GPUs and links, function by function: null where the driver is
// too old for it. The first three are in every library that NvmlLibrary accepts.
struct NvmlFunctions {
  explicit NvmlFunctions(const SharedLibrary& library);

  const char* (*error_string)(nvmlReturn_t) = nullptr;
  nvmlReturn_t (*memory_info)(nvmlDevice_t, nvmlMemory_t*) = nullptr;
  nvmlReturn_t (*nvlink_state)(nvmlDevice_t, unsigned link, nvmlEnableState_t*) = nullptr;

  nvmlReturn_t (*cuda_driver_version)(int*) = nullptr;
  nvmlReturn_t (*count)(unsigned*) = nullptr;
  nvmlReturn_t (*by_index)(unsigned, nvmlDevice_t*) = nullptr;
  nvmlReturn_t (*pci_info)(nvmlDevice_t, nvmlPciInfo_t*) = nullptr;
  nvmlReturn_t (*name)(nvmlDevice_t, char*, unsigned length) = nullptr;
  nvmlReturn_t (*uuid)(nvmlDevice_t, char*, unsigned length) = nullptr;
  nvmlReturn_t (*compute_capability)(nvmlDevice_t, int* major, int* minor) = nullptr;
  nvmlReturn_t (*ecc_mode)(nvmlDevice_t, nvmlEnableState_t* now, nvmlEnableState_t* next) = nullptr;
  nvmlReturn_t (*mig_mode)(nvmlDevice_t, unsigned* now, unsigned* next) = nullptr;
  nvmlReturn_t (*persistence_mode)(nvmlDevice_t, nvmlEnableState_t*) = nullptr;
  nvmlReturn_t (*clock)(nvmlDevice_t, nvmlClockType_t, unsigned* mhz) = nullptr;
  nvmlReturn_t (*clock_max)(nvmlDevice_t, nvmlClockType_t, unsigned* mhz) = nullptr;
  nvmlReturn_t (*power_limit)(nvmlDevice_t, unsigned* milliwatts) = nullptr;
  nvmlReturn_t (*power_limits)(nvmlDevice_t, unsigned* least, unsigned* most) = nullptr;
  nvmlReturn_t (*pcie_generation)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*pcie_generation_max)(nvmlDevice_t, unsigned*) = nullptr; // of GPU and slot
  nvmlReturn_t (*pcie_generation_gpu_max)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*pcie_width)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*pcie_width_max)(nvmlDevice_t, unsigned*) = nullptr;
  nvmlReturn_t (*nvlink_version)(nvmlDevice_t, unsigned link, unsigned*) = nullptr;
  nvmlReturn_t (*nvlink_remote_type)(nvmlDevice_t, unsigned link,
                                     nvmlIntNvLinkDeviceType_t*) = nullptr;
  nvmlReturn_t (*nvlink_remote_pci)(nvmlDevice_t, unsigned link, nvmlPciInfo_t*) = nullptr;
  nvmlReturn_t (*field_values)(nvmlDevice_t, int count, nvmlFieldValue_t*) = nullptr;
  nvmlReturn_t (*fabric_info)(nvmlDevice_t, nvmlGpuFabricInfo_t*) = nullptr;
  nvmlReturn_t (*fabric_info_v)(nvmlDevice_t, nvmlGpuFabricInfo_v2_t*) = nullptr;
  nvmlReturn_t (*cpu_affinity)(nvmlDevice_t, unsigned words, unsigned long* set) = nullptr;
  nvmlReturn_t (*memory_affinity)(nvmlDevice_t, unsigned words, unsigned long* set,
                                  nvmlAffinityScope_t) = nullptr;
  nvmlReturn_t (*common_ancestor)(nvmlDevice_t, nvmlDevice_t, nvmlGpuTopologyLevel_t*) = nullptr;
  nvmlReturn_t (*p2p_status)(nvmlDevice_t, nvmlDevice_t, nvmlGpuP2PCapsIndex_t,
                             nvmlGpuP2PStatus_t*) = nullptr;
};

} // namespace ncclprobe::nvidia
