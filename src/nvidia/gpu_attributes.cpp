// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/gpu_attributes.h"

#include "machine/machine.h"

#include "nvidia/shared_library.h"

#include <cuda.h>

#include <exception>

namespace ncclprobe::nvidia {
namespace {

// CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, which headers before CUDA 12.1 do not name. CUDA 11's
// enumeration cannot even hold the number, so attributes are integers here.
constexpr int k_multicast_supported = 132;

void ask(const SharedLibrary& driver, std::vector<model::GpuHealth>& health) {
  CUresult (*start)(unsigned) = driver.optional("cuInit");
  CUresult (*find)(CUdevice*, const char*) = driver.optional("cuDeviceGetByPCIBusId");
  CUresult (*attribute)(int*, int, CUdevice) = driver.optional("cuDeviceGetAttribute");
  if (start == nullptr || find == nullptr || attribute == nullptr || start(0) != CUDA_SUCCESS)
    return;
  auto asked = [&](CUdevice device, int what) -> std::optional<bool> {
    int value = 0;
    if (attribute(&value, what, device) != CUDA_SUCCESS)
      return std::nullopt;
    return value != 0;
  };
  for (model::GpuHealth& gpu : health) {
    auto name = topology::normal_bus_id(gpu.pci_bus_id);
    CUdevice device = 0;
    if (!name || find(&device, name->c_str()) != CUDA_SUCCESS)
      continue;
    gpu.multicast = asked(device, k_multicast_supported);
    gpu.memory_pools = asked(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  }
}

} // namespace

void read_gpu_attributes(std::vector<model::GpuHealth>& health, const std::string& library) {
  try {
    ask(SharedLibrary("the CUDA driver", {library}), health);
  } catch (const std::exception&) {
    return; // no driver; other checks report that
  }
}

} // namespace ncclprobe::nvidia
