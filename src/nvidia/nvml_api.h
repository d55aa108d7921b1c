// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The few declarations of NVIDIA's NVML that are used here. CUDA toolkits from wheels and
// containers carry no nvml.h, and the library comes with the driver. Names, layouts and numbers are
// those of the public NVML reference; this part of its interface has not changed since driver 418.
extern "C" {

typedef struct nvmlDevice_st* nvmlDevice_t;
typedef int nvmlReturn_t;
enum { NVML_SUCCESS = 0 };
typedef int nvmlEnableState_t;
enum { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 };
// nvmlDeviceGetNvLinkState answers for links below this number, "invalid argument" or "not
// supported" for those that a GPU does not have.
enum { NVML_NVLINK_MAX_LINKS = 18 };

typedef struct {
  unsigned long long total; // bytes
  unsigned long long free;
  unsigned long long used;
} nvmlMemory_t;

typedef int nvmlClockType_t;
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
typedef int nvmlTemperatureSensors_t;
enum { NVML_TEMPERATURE_GPU = 0 };

} // extern "C"
