// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Replaces libcuda: it shows two GPUs, and the second has no multicast.
#include <cuda.h>

#include <cstring>

extern "C" {

CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* name) {
  if (std::strcmp(name, "0000:1b:00.0") == 0)
    *device = 0;
  else if (std::strcmp(name, "0000:2b:00.0") == 0)
    *device = 1;
  else
    return CUDA_ERROR_INVALID_DEVICE;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute what, CUdevice device) {
  if (what != 132 && what != 115) // multicast, memory pools
    return CUDA_ERROR_INVALID_VALUE;
  *value = device == 0 ? 1 : 0;
  return CUDA_SUCCESS;
}
}
