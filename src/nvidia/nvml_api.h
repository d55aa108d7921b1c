// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The few declarations of NVIDIA's NVML that are used here. CUDA toolkits from wheels and
// containers have no nvml.h; the library comes with the driver. Names, layouts and numbers are
// those of the public NVML reference. Every structure here has kept its layout since it was
// introduced. Functions newer than driver 418 are looked up one by one and may be missing.
extern "C" {

typedef struct nvmlDevice_st* nvmlDevice_t;
typedef int nvmlReturn_t;
enum {
  NVML_SUCCESS = 0,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_INSUFFICIENT_SIZE = 7
};
typedef int nvmlEnableState_t;
enum { NVML_FEATURE_DISABLED = 0, NVML_FEATURE_ENABLED = 1 };
// nvmlDeviceGetNvLinkState accepts links below this number (36 since CUDA 13) and returns "invalid
// argument" or "not supported" for links that a GPU does not have.
enum { NVML_NVLINK_MAX_LINKS = 36 };

typedef struct {
  unsigned long long total; // bytes
  unsigned long long free;
  unsigned long long used;
} nvmlMemory_t;

typedef int nvmlClockType_t;
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
typedef int nvmlTemperatureSensors_t;
enum { NVML_TEMPERATURE_GPU = 0 };

typedef struct nvmlPciInfo_st {
  char busIdLegacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId; // device id above, vendor id below
  unsigned pciSubSystemId;
  char busId[32]; // "00000000:1B:00.0"
} nvmlPciInfo_t;

typedef int nvmlIntNvLinkDeviceType_t; // what a link leads to
enum {
  NVML_NVLINK_DEVICE_TYPE_GPU = 0,
  NVML_NVLINK_DEVICE_TYPE_IBMNPU = 1,
  NVML_NVLINK_DEVICE_TYPE_SWITCH = 2,
  NVML_NVLINK_DEVICE_TYPE_UNKNOWN = 255,
};

typedef int nvmlGpuTopologyLevel_t; // how far up the PCI tree two GPUs meet
enum {
  NVML_TOPOLOGY_INTERNAL = 0,
  NVML_TOPOLOGY_SINGLE = 10,
  NVML_TOPOLOGY_MULTIPLE = 20,
  NVML_TOPOLOGY_HOSTBRIDGE = 30,
  NVML_TOPOLOGY_NODE = 40,
  NVML_TOPOLOGY_SYSTEM = 50,
};

typedef int nvmlGpuP2PCapsIndex_t;
enum {
  NVML_P2P_CAPS_INDEX_READ = 0,
  NVML_P2P_CAPS_INDEX_WRITE = 1,
  NVML_P2P_CAPS_INDEX_NVLINK = 2,
  NVML_P2P_CAPS_INDEX_ATOMICS = 3,
};
typedef int nvmlGpuP2PStatus_t;
enum {
  NVML_P2P_STATUS_OK = 0,
  NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED = 1,
  NVML_P2P_STATUS_GPU_NOT_SUPPORTED = 2,
  NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED = 3,
  NVML_P2P_STATUS_DISABLED_BY_REGKEY = 4,
  NVML_P2P_STATUS_NOT_SUPPORTED = 5,
  NVML_P2P_STATUS_UNKNOWN = 6,
};

typedef union nvmlValue_st {
  double dVal;
  unsigned uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
} nvmlValue_t;
typedef int nvmlValueType_t;
enum {
  NVML_VALUE_TYPE_UNSIGNED_INT = 1,
  NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
  NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
};
typedef struct nvmlFieldValue_st {
  unsigned fieldId;
  unsigned scopeId; // for some fields the number of a link
  long long timestamp;
  long long latencyUsec;
  nvmlValueType_t valueType;
  nvmlReturn_t nvmlReturn; // of this field alone
  nvmlValue_t value;
} nvmlFieldValue_t;
enum {
  NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON = 90, // MB/s of each active link and direction
  // Data in KiB since the driver's start, for the link in scopeId, or for all links.
  NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX = 138,
  NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX = 139,
  NVML_FI_DEV_NVLINK_GET_SPEED = 164, // the same of the link in scopeId
};

static const unsigned NVML_ALL_LINKS = ~0U; // as scopeId

typedef int nvmlPcieUtilCounter_t;
enum { NVML_PCIE_UTIL_TX_BYTES = 0, NVML_PCIE_UTIL_RX_BYTES = 1 };

typedef unsigned char nvmlGpuFabricState_t;
enum {
  NVML_GPU_FABRIC_STATE_NOT_SUPPORTED = 0,
  NVML_GPU_FABRIC_STATE_NOT_STARTED = 1,
  NVML_GPU_FABRIC_STATE_IN_PROGRESS = 2,
  NVML_GPU_FABRIC_STATE_COMPLETED = 3,
};
typedef struct {
  unsigned char clusterUuid[16];
  nvmlReturn_t status; // of the probe, once it is completed
  unsigned cliqueId;
  nvmlGpuFabricState_t state;
} nvmlGpuFabricInfo_t;
typedef struct {
  unsigned version; // to be set by the caller
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned cliqueId;
  nvmlGpuFabricState_t state;
  unsigned healthMask; // two bits per question: 0 not supported, 1 true, 2 false
} nvmlGpuFabricInfo_v2_t;
// NVML's own macro: the size, and the version in the highest byte.
enum { nvmlGpuFabricInfo_v2 = sizeof(nvmlGpuFabricInfo_v2_t) | (2U << 24) };

// Errors of memory and links.
typedef int nvmlMemoryErrorType_t;
enum { NVML_MEMORY_ERROR_TYPE_CORRECTED = 0, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1 };
typedef int nvmlEccCounterType_t; // since the driver was loaded; over the GPU's life
enum { NVML_VOLATILE_ECC = 0, NVML_AGGREGATE_ECC = 1 };
typedef int nvmlPageRetirementCause_t;
enum {
  NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS = 0,
  NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR = 1,
};
typedef int nvmlNvLinkErrorCounter_t; // up to NVLink 4
enum {
  NVML_NVLINK_ERROR_DL_REPLAY = 0,
  NVML_NVLINK_ERROR_DL_RECOVERY = 1,
  NVML_NVLINK_ERROR_DL_CRC_FLIT = 2,
  NVML_NVLINK_ERROR_DL_CRC_DATA = 3,
};
enum { // of the link in scopeId, from NVLink 5 on
  NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS = 208,
  NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS = 215,
};

typedef int nvmlTemperatureThresholds_t;
enum { NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1 };
typedef struct nvmlUtilization_st {
  unsigned gpu; // percent of the last sample period in which a kernel ran
  unsigned memory;
} nvmlUtilization_t;
typedef struct nvmlProcessInfo_st { // of the functions that end in _v3
  unsigned pid;
  unsigned long long usedGpuMemory; // bytes; all ones: not known
  unsigned gpuInstanceId;
  unsigned computeInstanceId;
} nvmlProcessInfo_t;
static const unsigned long long NVML_VALUE_NOT_AVAILABLE = ~0ULL;

typedef unsigned nvmlAffinityScope_t;
enum { NVML_AFFINITY_SCOPE_NODE = 0 };

} // extern "C"
