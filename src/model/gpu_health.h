// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The state of a GPU at one moment, according to NVML (and one attribute of CUDA). Values that
// could not be read are absent.
namespace ncclprobe::model {

struct GpuProcess {
  int pid = 0; // according to NVML; in a container the number is from another namespace
  std::string name;
  std::optional<std::uint64_t> used_bytes;
  bool operator==(const GpuProcess&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(GpuProcess, pid, name, used_bytes)

// Errors since the driver was loaded.
struct NvLinkErrors {
  int link = 0;
  std::optional<std::uint64_t> replays;
  std::optional<std::uint64_t> recoveries;
  std::optional<std::uint64_t> crc_errors;     // of flits and of data
  std::optional<std::uint64_t> receive_errors; // NVLink 5, which has no such CRC counters
  bool operator==(const NvLinkErrors&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(NvLinkErrors, link, replays, recoveries, crc_errors, receive_errors)

struct GpuHealth {
  int index = 0; // NVML's: by PCI address, independent of CUDA_VISIBLE_DEVICES
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::string vbios; // version of its firmware, "96.00.a5.00.01"

  std::optional<bool> ecc_on;
  std::optional<bool> ecc_on_after_reset;
  std::optional<std::uint64_t> corrected_since_reset;
  std::optional<std::uint64_t> uncorrected_since_reset;
  std::optional<std::uint64_t> corrected_ever;
  std::optional<std::uint64_t> uncorrected_ever;
  std::optional<int> retired_pages; // up to Volta and Turing; later GPUs remap rows
  std::optional<bool> retirement_pending;
  std::optional<int> remapped_rows_corrected;
  std::optional<int> remapped_rows_uncorrected;
  std::optional<bool> remap_pending;
  std::optional<bool> remap_failed;

  std::optional<std::uint64_t> throttle_reasons; // NVML's bits
  std::optional<int> sm_clock_mhz;
  std::optional<int> most_sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<int> most_memory_clock_mhz;
  std::optional<int> temperature_c;
  std::optional<int> slowdown_temperature_c;
  std::optional<int> power_mw;
  std::optional<int> power_limit_mw;         // enforced now
  std::optional<int> default_power_limit_mw; // as delivered
  std::optional<int> busy_percent;

  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> free_bytes;

  std::optional<bool> persistence;
  std::string compute_mode; // "default", "exclusive_process", "prohibited"
  std::optional<bool> mig;
  std::optional<std::vector<GpuProcess>> processes; // computing, including clients of MPS
  std::optional<bool> mps_clients;

  std::optional<int> pcie_generation;
  std::optional<int> most_pcie_generation; // of GPU and slot
  std::optional<int> pcie_width;
  std::optional<int> most_pcie_width;
  std::optional<std::uint64_t> pcie_replays;

  std::optional<int> nvlinks;        // that NVML can report
  std::optional<int> active_nvlinks; // of these
  std::vector<NvLinkErrors> nvlink_errors;

  std::string fabric_state; // "not_supported", "not_started", "in_progress", "completed"
  std::optional<int> fabric_status;
  std::optional<std::uint32_t> fabric_health; // NVML's mask
  std::string fabric_cluster;                 // UUID; all zeros in a single node
  std::optional<std::uint32_t> fabric_clique;
  std::optional<bool> multicast;    // CUDA's attribute, for GPUs that the process may see
  std::optional<bool> memory_pools; // as above; cudaMallocAsync needs them
  bool operator==(const GpuHealth&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(GpuHealth, index, name, uuid, pci_bus_id, vbios, ecc_on,
                         ecc_on_after_reset, corrected_since_reset, uncorrected_since_reset,
                         corrected_ever, uncorrected_ever, retired_pages, retirement_pending,
                         remapped_rows_corrected, remapped_rows_uncorrected, remap_pending,
                         remap_failed, throttle_reasons, sm_clock_mhz, most_sm_clock_mhz,
                         memory_clock_mhz, most_memory_clock_mhz, temperature_c,
                         slowdown_temperature_c, power_mw, power_limit_mw, default_power_limit_mw,
                         busy_percent, memory_bytes, free_bytes, persistence, compute_mode, mig,
                         processes, mps_clients, pcie_generation, most_pcie_generation, pcie_width,
                         most_pcie_width, pcie_replays, nvlinks, active_nvlinks, nvlink_errors,
                         fabric_state, fabric_status, fabric_health, fabric_cluster, fabric_clique,
                         multicast, memory_pools)

} // namespace ncclprobe::model
