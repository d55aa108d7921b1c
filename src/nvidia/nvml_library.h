// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "nvidia/nvml_api.h"
#include "nvidia/shared_library.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ncclprobe::nvidia {

// NVML, initialised for as long as the object exists. It reads GPUs without creating a CUDA context
// on them.
class NvmlLibrary {
public:
  // Throws Errc::unsupported (library or function missing), Errc::unavailable (no driver).
  explicit NvmlLibrary(const backend::Options& options);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  const std::string& path() const { return library_.path(); }
  // For functions with a single user, looked up one by one.
  const SharedLibrary& library() const { return library_; }
  std::string version() const;        // of NVML, "13.580.82.07"
  std::string driver_version() const; // "580.82.07"
  std::string error_text(nvmlReturn_t code) const { return error_string_(code); }

  // Empty if NVML does not report it.
  std::optional<std::uint64_t> free_bytes(const std::string& pci_bus_id) const;
  std::optional<int> active_nvlinks(const std::string& pci_bus_id) const;
  // Clocks, temperature, power and throttle reasons, as far as readable; empty if nothing is. For
  // any thread.
  std::optional<model::Condition> condition(const std::string& pci_bus_id) const;
  // Traffic on its links, as far as NVML reports it. NVML samples PCIe for 20 ms in each direction.
  void read_traffic(const std::string& pci_bus_id, model::Condition& into) const;
  // How many processes compute on it, and its memory errors since the driver's start. MPS's clients
  // count, its server does not.
  void read_company(const std::string& pci_bus_id, model::Condition& into) const;

private:
  nvmlDevice_t device(const std::string& pci_bus_id) const; // null if NVML does not know it

  SharedLibrary library_;
  nvmlReturn_t (*init_)() = nullptr;
  nvmlReturn_t (*shutdown_)() = nullptr;
  const char* (*error_string_)(nvmlReturn_t) = nullptr;
  nvmlReturn_t (*nvml_version_)(char* text, unsigned length) = nullptr;
  nvmlReturn_t (*driver_version_)(char* text, unsigned length) = nullptr;
  nvmlReturn_t (*device_by_pci_)(const char* pci_bus_id, nvmlDevice_t* device) = nullptr;
  nvmlReturn_t (*memory_info_)(nvmlDevice_t device, nvmlMemory_t* memory) = nullptr;
  nvmlReturn_t (*nvlink_state_)(nvmlDevice_t device, unsigned link,
                                nvmlEnableState_t* active) = nullptr;
  // Optional.
  nvmlReturn_t (*clock_info_)(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) = nullptr;
  nvmlReturn_t (*temperature_)(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                               unsigned* celsius) = nullptr;
  nvmlReturn_t (*power_usage_)(nvmlDevice_t device, unsigned* milliwatts) = nullptr;
  nvmlReturn_t (*clock_reasons_)(nvmlDevice_t device, unsigned long long* bits) = nullptr;
  nvmlReturn_t (*field_values_)(nvmlDevice_t device, int count, nvmlFieldValue_t* values) = nullptr;
  nvmlReturn_t (*pcie_throughput_)(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
                                   unsigned* kb_per_s) = nullptr;
  using ListProcesses = nvmlReturn_t (*)(nvmlDevice_t device, unsigned* count,
                                         nvmlProcessInfo_t* processes);
  ListProcesses running_processes_ = nullptr;
  ListProcesses mps_processes_ = nullptr;
  nvmlReturn_t (*memory_errors_)(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                 nvmlEccCounterType_t since, unsigned long long* count) = nullptr;
};

} // namespace ncclprobe::nvidia
