// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/survey.h"

#include "base/json_optional.h"
#include "model/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace ncclprobe::model {

// A field that is missing has its default: surveys of other versions can be read.
#define CODEC NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT

CODEC(MappedLibrary, path, soname, runpath, rpath)
CODEC(Limit, name, soft, hard)
CODEC(Confinement, container, memory_limit_bytes, memory_used_bytes, cpus, pids_limit, pids_used,
      numa_calls_allowed)
CODEC(LookedFor, name, found)
CODEC(ProcessSurvey, environment, looked_for, libraries, limits, confinement, cpus_allowed)
CODEC(SharedSegment, name, bytes, age_s, owner)
CODEC(SharedMemory, size_bytes, free_bytes, segments, removed_at_logout, problem)
CODEC(PciBridge, address, redirects_peers)
CODEC(IommuGroup, type, devices)
CODEC(PciSurvey, bridges, iommu_groups, device_groups, iommu_words, hypervisor)
CODEC(KernelModule, name, version)
CODEC(DriverSurvey, module_version, flavour, modules, services, device_files,
      fabric_manager_version, nvidia_pci_devices, nvswitches)
CODEC(NetworkInterface, name, up, running, loopback, speed_mbit_per_s, mtu_bytes, addresses)
CODEC(RdmaPort, device, port, state, rate, link_layer, gids)
CODEC(Xid, number, pci_bus_id, line, age_s)
CODEC(KernelLog, source, problem, xids, uptime_s)
CODEC(NcclFile, path, settings)
CODEC(InstalledLibrary, path, soname, version, found_by)
CODEC(HostSurvey, shared_memory, pci, driver, interfaces, rdma, kernel_log, nccl_files,
      name_addresses, installed)
CODEC(GpuProcess, pid, name, used_bytes)
CODEC(NvLinkErrors, link, replays, recoveries, crc_errors, receive_errors)
CODEC(GpuHealth, index, name, uuid, pci_bus_id, vbios, ecc_on, ecc_on_after_reset,
      corrected_since_reset, uncorrected_since_reset, corrected_ever, uncorrected_ever,
      retired_pages, retirement_pending, remapped_rows_corrected, remapped_rows_uncorrected,
      remap_pending, remap_failed, throttle_reasons, sm_clock_mhz, most_sm_clock_mhz,
      memory_clock_mhz, most_memory_clock_mhz, temperature_c, slowdown_temperature_c, power_mw,
      power_limit_mw, default_power_limit_mw, busy_percent, memory_bytes, free_bytes, persistence,
      compute_mode, mig, processes, mps_clients, pcie_generation, most_pcie_generation, pcie_width,
      most_pcie_width, pcie_replays, nvlinks, active_nvlinks, nvlink_errors, fabric_state,
      fabric_status, fabric_health, fabric_cluster, fabric_clique, multicast, memory_pools)

void to_json(nlohmann::json& out, const Survey& value) {
  out = {{"ranks", value.ranks},
         {"mpi", value.mpi},
         {"ncclprobe", value.ncclprobe},
         {"taken_utc", value.taken_utc},
         {"inventory", value.inventory},
         {"process", value.process},
         {"host", value.host},
         {"health", value.health},
         {"health_problem", value.health_problem},
         {"problem", value.problem},
         {"worker_problem", value.worker_problem},
         {"worker_mismatch", value.worker_mismatch}};
}

void from_json(const nlohmann::json& in, Survey& value) {
  in.at("inventory").get_to(value.inventory);
  in.at("process").get_to(value.process);
  Survey none;
  value.ranks = in.value("ranks", none.ranks);
  value.mpi = in.value("mpi", none.mpi);
  value.ncclprobe = in.value("ncclprobe", none.ncclprobe);
  value.taken_utc = in.value("taken_utc", none.taken_utc);
  value.host = in.value("host", none.host);
  value.health = in.value("health", none.health);
  value.health_problem = in.value("health_problem", none.health_problem);
  value.problem = in.value("problem", none.problem);
  value.worker_problem = in.value("worker_problem", none.worker_problem);
  value.worker_mismatch = in.value("worker_mismatch", none.worker_mismatch);
}

const Setting* Survey::variable(std::string_view name) const {
  auto found = std::find_if(process.environment.begin(), process.environment.end(),
                            [&](const Setting& one) { return one.name == name; });
  return found == process.environment.end() ? nullptr : &*found;
}

bool bears_on_communication(std::string_view name) {
  for (std::string_view prefix : {"NCCL_", "NCCLPROBE_", "GLOO_", "CUDA_", "UCX_", "OMP_"})
    if (name.starts_with(prefix))
      return true;
  constexpr std::array k_others{"NVIDIA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "LD_LIBRARY_PATH",
                                "LD_PRELOAD"};
  return std::find(k_others.begin(), k_others.end(), name) != k_others.end();
}

bool may_differ_between_ranks(std::string_view name) {
  constexpr std::array k_names{
      "NCCL_HOSTID",          "NCCL_SOCKET_IFNAME",    "NCCL_IB_HCA",         "NCCL_DEBUG",
      "NCCL_DEBUG_FILE",      "NCCL_TOPO_FILE",        "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_FILE",
      "NCCL_GRAPH_DUMP_FILE", "NCCL_CONF_FILE",        "NCCL_DEBUG_SUBSYS",   "GLOO_SOCKET_IFNAME",
      "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"};
  return std::find(k_names.begin(), k_names.end(), name) != k_names.end();
}

} // namespace ncclprobe::model
