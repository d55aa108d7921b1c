// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Replaces NVML with a simulated machine of three GPUs: a healthy one, one with faulty links, and
// one with almost no features. FAKE_NVML_OLD: only the functions that ncclprobe requires.
// FAKE_NVML_BRIDGE: the first two GPUs are linked directly, and the driver reports no rates.
// FAKE_NVML_LOST: the second GPU is lost. FAKE_NVML_ALIKE: only the first two GPUs, none in MIG
// mode. FAKE_NVML_MPS: the second one's processes are MPS's server and two clients, one of them
// listed twice.
#include "nvidia/nvml_api.h"

#include <cstdio>
#include <cstring>
#include <iterator>

struct nvmlDevice_st {
  const char* bus_id;
  const char* name;
  int links;        // that it has; 0: the question is not supported
  int active_links; // of these
  unsigned pcie_generation;
  unsigned pcie_width;
  unsigned numa_node;
};

namespace {

constexpr nvmlReturn_t k_invalid_argument = NVML_ERROR_INVALID_ARGUMENT;
constexpr nvmlReturn_t k_not_supported = NVML_ERROR_NOT_SUPPORTED;
constexpr nvmlReturn_t k_not_found = 6;
constexpr nvmlReturn_t k_insufficient_size = NVML_ERROR_INSUFFICIENT_SIZE;
[[maybe_unused]] constexpr nvmlReturn_t k_gpu_is_lost = 15;

nvmlDevice_st devices[] = {
    {"00000000:1B:00.0", "NVIDIA H200", 18, 18, 5, 16, 0},
    {"00000000:43:00.0", "NVIDIA H200", 18, 17, 1, 8, 1},
#ifndef FAKE_NVML_ALIKE
    {"00000000:9A:00.0", "Tesla T4", 0, 0, 3, 16, 1},
#endif
};

template <typename T>
nvmlReturn_t answer(T* out, T value) {
  *out = value;
  return NVML_SUCCESS;
}

nvmlReturn_t text(char* out, unsigned length, const char* value) {
  std::snprintf(out, length, "%s", value);
  return NVML_SUCCESS;
}

bool same_bus(const char* asked, const char* known) {
  // Callers may omit digits of the domain and write lower case.
  std::size_t length = std::strlen(asked);
  return length >= 7 && strcasecmp(asked + length - 7, known + std::strlen(known) - 7) == 0;
}

[[maybe_unused]] bool capable(nvmlDevice_t device) { // the third GPU has nothing to ask for
  return device != devices + 2;
}

} // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlShutdown() {
  return NVML_SUCCESS;
}
const char* nvmlErrorString(nvmlReturn_t) {
  return "fake";
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* out, unsigned length) {
  return text(out, length, "13.580.0");
}
nvmlReturn_t nvmlSystemGetDriverVersion(char* out, unsigned length) {
  return text(out, length, "580.0");
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  for (nvmlDevice_st& one : devices)
    if (same_bus(bus_id, one.bus_id))
      return answer(device, &one);
  return k_not_found;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  *memory = {150754820096ULL, 150000000000ULL, 754820096ULL};
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link,
                                      nvmlEnableState_t* active) {
  if (device->links == 0)
    return k_not_supported;
  if (link >= static_cast<unsigned>(device->links))
    return k_invalid_argument;
  *active =
      static_cast<int>(link) < device->active_links ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
  return NVML_SUCCESS;
}

#ifndef FAKE_NVML_OLD
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return answer(version, 13000);
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  return answer(count, static_cast<unsigned>(std::size(devices)));
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
#ifdef FAKE_NVML_LOST
  if (index == 1)
    return k_gpu_is_lost;
#endif
  return index < std::size(devices) ? answer(device, &devices[index]) : k_invalid_argument;
}
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
                                         unsigned* kb_per_s) {
  return capable(device) ? answer(kb_per_s, counter == NVML_PCIE_UTIL_TX_BYTES ? 55'000'000U : 999U)
                         : k_not_supported;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* out, unsigned length) {
  return text(out, length, device->name);
}
nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t, char* out, unsigned length) {
  return text(out, length, "96.00.a5.00.01");
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* out, unsigned length) {
  char uuid[64];
  std::snprintf(uuid, sizeof uuid, "GPU-%08x-0000-0000-0000-000000000000",
                static_cast<unsigned>(device - devices));
  return text(out, length, uuid);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  *pci = {};
  std::snprintf(pci->busId, sizeof pci->busId, "%s", device->bus_id);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  *major = capable(device) ? 9 : 7;
  *minor = capable(device) ? 0 : 5;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending) {
  if (!capable(device))
    return k_not_supported;
  *current = device == &devices[0] ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
  *pending = NVML_FEATURE_ENABLED;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  if (!capable(device))
    return k_not_supported;
#ifdef FAKE_NVML_ALIKE
  *current = *pending = 0;
#else
  *current = *pending = device == &devices[0] ? 0 : 1;
#endif
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, nvmlClockType_t type, unsigned* mhz) {
  return answer(mhz, type == NVML_CLOCK_SM ? 345U : 2619U);
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* millijoules) {
  return capable(device) ? answer(millijoules, 5'000'000'000'000ULL) : k_not_supported;
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t, nvmlClockType_t type, unsigned* mhz) {
  return answer(mhz, type == NVML_CLOCK_SM ? 1980U : 3201U);
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t, nvmlEnableState_t* mode) {
  return answer<int>(mode, NVML_FEATURE_ENABLED);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t, unsigned* milliwatts) {
  return answer(milliwatts, 650500U);
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t, unsigned* least,
                                                          unsigned* most) {
  *least = 200000;
  *most = 700000;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return answer(generation, device->pcie_generation);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* width) {
  return answer(width, device->pcie_width);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return answer(generation, device == &devices[0] ? 5U : device == &devices[1] ? 4U : 3U);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t, unsigned* width) {
  return answer(width, 16U);
}
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* generation) {
  return answer(generation, capable(device) ? 5U : 3U);
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link, unsigned* version) {
  return link < static_cast<unsigned>(device->links) ? answer(version, 6U) : k_invalid_argument;
}
#ifdef FAKE_NVML_BRIDGE
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t, unsigned,
                                                 nvmlIntNvLinkDeviceType_t* type) {
  return answer<int>(type, NVML_NVLINK_DEVICE_TYPE_GPU);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                                 nvmlPciInfo_t* pci) {
  if (link == 1) { // as virtual machines show the far end
    std::snprintf(pci->busId, sizeof pci->busId, "FFFFFFFF:FF:FF.0");
    return NVML_SUCCESS;
  }
  return nvmlDeviceGetPciInfo_v3(device == &devices[0] ? &devices[1] : &devices[0], pci);
}
#else
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t, unsigned,
                                                 nvmlIntNvLinkDeviceType_t* type) {
  return answer<int>(type, NVML_NVLINK_DEVICE_TYPE_SWITCH);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t, unsigned link, nvmlPciInfo_t* pci) {
  *pci = {};
  std::snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", 5 + link % 4);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  for (int i = 0; i < count; ++i) {
    const unsigned field = values[i].fieldId;
    if (device->links > 0 && values[i].scopeId == NVML_ALL_LINKS &&
        (field == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX ||
         field == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX)) {
      values[i].nvmlReturn = NVML_SUCCESS;
      values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
      values[i].value.ullVal = field;
      continue;
    }
    bool known = field == NVML_FI_DEV_NVLINK_GET_SPEED && device->links > 0;
    values[i].nvmlReturn = known ? NVML_SUCCESS : k_not_supported;
    values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    values[i].value.ullVal = 0xdeadbeef00000000ULL; // NVML leaves the upper half as it was
    values[i].value.uiVal = 26562;
  }
  return NVML_SUCCESS;
}
#endif
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfo_v2_t* info) {
  if (info->version != nvmlGpuFabricInfo_v2)
    return k_invalid_argument;
  if (!capable(device))
    return k_not_supported;
  info->state = NVML_GPU_FABRIC_STATE_COMPLETED;
  info->status = NVML_SUCCESS;
  info->cliqueId = 7;
  info->healthMask = device == &devices[0] ? 0b10U : 0b01U; // bandwidth: not degraded, degraded
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned words, unsigned long* set) {
  std::memset(set, 0, words * sizeof *set);
  set[0] = device->numa_node == 0 ? 0x00ffUL : 0xff00UL;
  set[1] = device->numa_node == 0 ? 1 : 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned words, unsigned long* set,
                                         nvmlAffinityScope_t) {
  std::memset(set, 0, words * sizeof *set);
  set[0] = 1UL << device->numa_node;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                 nvmlGpuTopologyLevel_t* level) {
  return answer<int>(level, one->numa_node == other->numa_node ? NVML_TOPOLOGY_NODE
                                                               : NVML_TOPOLOGY_SYSTEM);
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other,
                                    nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t* status) {
  if (!capable(one) || !capable(other))
    return answer<int>(status, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED);
  return answer<int>(status, index == NVML_P2P_CAPS_INDEX_ATOMICS ? NVML_P2P_STATUS_NOT_SUPPORTED
                                                                  : NVML_P2P_STATUS_OK);
}

// Health: the second GPU is ill, the third answers nothing.
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t since, unsigned long long* count) {
  if (!capable(device))
    return k_not_supported;
  bool ill = device == &devices[1];
  return answer(count, ill ? 10ULL * static_cast<unsigned>(type) + static_cast<unsigned>(since) + 1
                           : 0ULL);
}
nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                       unsigned* count, unsigned long long* addresses) {
  if (!capable(device) || device == &devices[0])
    return k_not_supported;
  bool room = addresses != nullptr && *count > 0;
  *count = cause == NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR ? 2 : 0;
  return room || *count == 0 ? NVML_SUCCESS : k_insufficient_size;
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected,
                                       unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  if (!capable(device))
    return k_not_supported;
  bool ill = device == &devices[1];
  *corrected = ill ? 3 : 0;
  *uncorrected = ill ? 4 : 0;
  *pending = ill ? 1 : 0;
  *failed = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* reasons) {
  return capable(device) ? answer(reasons, device == &devices[1] ? 0x40ULL : 0x1ULL)
                         : k_not_supported;
}
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int* mode) {
  return answer(mode, device == &devices[1] ? 3 : 0);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* processes) {
  if (!capable(device))
    return k_not_supported;
  unsigned found = device == &devices[1] ? 2 : 0;
  unsigned room = *count;
  *count = found;
  if (room < found)
    return k_insufficient_size;
  for (unsigned i = 0; i < found; ++i)
    processes[i] = {100 + i, i == 0 ? 1ULL << 30 : NVML_VALUE_NOT_AVAILABLE, ~0U, ~0U};
  return NVML_SUCCESS;
}
#ifdef FAKE_NVML_MPS
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                        nvmlProcessInfo_t* processes) {
  *count = device == &devices[1] ? 2 : 0;
  for (unsigned i = 0; i < *count; ++i)
    processes[i] = {101 + i, NVML_VALUE_NOT_AVAILABLE, ~0U, ~0U};
  return NVML_SUCCESS;
}
#endif
nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* out, unsigned length) {
  return pid == 100 ? text(out, length, "python3") : k_not_found;
}
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link,
                                             nvmlNvLinkErrorCounter_t counter,
                                             unsigned long long* count) {
  if (!capable(device) || link >= static_cast<unsigned>(device->links))
    return k_not_supported;
  bool ill = device == &devices[1] && link == 2;
  return answer(count, ill ? 1ULL + static_cast<unsigned>(counter) : 0ULL);
}
#endif // FAKE_NVML_OLD

} // extern "C"
