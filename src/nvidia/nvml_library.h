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
  // Clocks, temperature, power, energy and throttle reasons, as far as readable; empty if nothing
  // is. For any thread.
  std::optional<model::Condition> condition(const std::string& pci_bus_id) const;
  // Traffic on its links, as far as NVML reports it. NVML samples PCIe for 20 ms in each direction.
  void read_traffic(const std::string& pci_bus_id, model::Condition& into) const;
  // How many processes compute on it, and its memory errors since the driver's start. MPS's clients
  // count, its server does not.
  void read_company(const std::string& pci_bus_id, model::Condition& into) const;

private:
  nvmlDevice_t device(const std::string& pci_bus_id) const; // null if NVML does not know it

  SharedLibrary library_;
  nvmlReturn_t (*init_)() = library_.require("nvmlInit_v2");
  nvmlReturn_t (*shutdown_)() = library_.require("nvmlShutdown");
  const char* (*error_string_)(nvmlReturn_t) = library_.require("nvmlErrorString");
  nvmlReturn_t (*nvml_version_)(char* text,
                                unsigned length) = library_.require("nvmlSystemGetNVMLVersion");
  nvmlReturn_t (*driver_version_)(char* text,
                                  unsigned length) = library_.require("nvmlSystemGetDriverVersion");
  nvmlReturn_t (*device_by_pci_)(const char* pci_bus_id, nvmlDevice_t* device) =
      library_.require("nvmlDeviceGetHandleByPciBusId_v2");
};

} // namespace ncclprobe::nvidia
