// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nvml_topology.h"

#include "nvidia/nvml_functions.h"

#include <algorithm>
#include <array>

namespace ncclprobe::nvidia {
namespace {

using topology::Fact;
using topology::Source;

template <typename T>
Fact<T> told(std::optional<T> value) {
  return {std::move(value), Source::nvml};
}

template <typename T>
Fact<T> told(T value) {
  return {std::move(value), Source::nvml};
}

// One number, as most functions give it behind all other arguments.
template <typename Function, typename... What>
std::optional<int> number(Function function, What... what) {
  unsigned value = 0;
  if (function == nullptr || function(what..., &value) != NVML_SUCCESS)
    return std::nullopt;
  return static_cast<int>(value);
}

template <typename Function>
std::optional<std::string> text(Function function, nvmlDevice_t gpu) {
  std::array<char, 128> buffer{};
  if (function == nullptr || function(gpu, buffer.data(), buffer.size()) != NVML_SUCCESS)
    return std::nullopt;
  return std::string(buffer.data());
}

// Present and pending state of a mode.
template <typename State, typename Function>
void modes(Function function, nvmlDevice_t gpu, Fact<bool>& now, Fact<bool>& pending) {
  State current{};
  State next{};
  if (function == nullptr || function(gpu, &current, &next) != NVML_SUCCESS)
    return;
  now = told(current != 0);
  pending = told(next != 0);
}

// In a virtual machine the far end of a link has the address ffffffff:ff:ff.0, which is none: a bus
// has 32 devices.
std::optional<std::string> bus_id_of(const nvmlPciInfo_t& pci) {
  auto normal = topology::normal_bus_id(pci.busId);
  if (!normal || normal->ends_with("ff:ff.0"))
    return std::nullopt;
  return normal;
}

std::optional<std::string> bus_id_of(const NvmlFunctions& nvml, nvmlDevice_t gpu) {
  nvmlPciInfo_t pci{};
  if (nvml.pci_info == nullptr || nvml.pci_info(gpu, &pci) != NVML_SUCCESS)
    return std::nullopt;
  return bus_id_of(pci);
}

// Positions of the bits that are set, as NVML gives CPUs and NUMA nodes.
template <typename Function, typename... More>
std::optional<std::vector<int>> bits(Function function, nvmlDevice_t gpu, More... more) {
  constexpr unsigned k_bits = 8 * sizeof(unsigned long);
  std::array<unsigned long, 8192 / k_bits> set{}; // the most CPUs that Linux is built for
  if (function == nullptr ||
      function(gpu, static_cast<unsigned>(set.size()), set.data(), more...) != NVML_SUCCESS)
    return std::nullopt;
  std::vector<int> positions;
  for (unsigned i = 0; i < 8192; ++i)
    if ((set[i / k_bits] >> (i % k_bits) & 1U) != 0)
      positions.push_back(static_cast<int>(i));
  return positions;
}

// nvmlNvlinkVersion_t
std::optional<std::string> nvlink_version(const NvmlFunctions& nvml, nvmlDevice_t gpu,
                                          unsigned link) {
  constexpr std::array k_versions{"", "1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0", "6.0"};
  auto code = static_cast<std::size_t>(number(nvml.nvlink_version, gpu, link).value_or(0));
  if (code == 0 || code >= k_versions.size())
    return std::nullopt;
  return k_versions[code];
}

// MB/s of one field; nothing if the driver does not know it.
std::optional<double> gb_per_s(const nvmlFieldValue_t& field) {
  if (field.nvmlReturn != NVML_SUCCESS)
    return std::nullopt;
  unsigned long long mb_per_s =
      field.valueType == NVML_VALUE_TYPE_UNSIGNED_INT ? field.value.uiVal : field.value.ullVal;
  if (mb_per_s == 0)
    return std::nullopt;
  return static_cast<double>(mb_per_s) / 1000;
}

// Each link's own rate in one call, else the rate that all active links have.
void add_rates(const NvmlFunctions& nvml, nvmlDevice_t gpu, std::vector<topology::NvLink>& links) {
  if (nvml.field_values == nullptr || links.empty())
    return;
  std::vector<nvmlFieldValue_t> fields(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    fields[i].fieldId = NVML_FI_DEV_NVLINK_GET_SPEED;
    fields[i].scopeId = static_cast<unsigned>(*links[i].number);
    fields[i].nvmlReturn = -1;
  }
  if (nvml.field_values(gpu, static_cast<int>(fields.size()), fields.data()) != NVML_SUCCESS)
    fields.clear();
  nvmlFieldValue_t common{};
  common.fieldId = NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON;
  common.nvmlReturn = -1;
  std::optional<double> common_rate;
  if (nvml.field_values(gpu, 1, &common) == NVML_SUCCESS)
    common_rate = gb_per_s(common);
  for (std::size_t i = 0; i < links.size(); ++i) {
    std::optional<double> own = i < fields.size() ? gb_per_s(fields[i]) : std::nullopt;
    if (own || links[i].active.value_or(false))
      links[i].gb_per_s = told(own ? own : common_rate);
  }
}

void add_remote(const NvmlFunctions& nvml, nvmlDevice_t gpu, unsigned number,
                topology::NvLink& link) {
  nvmlIntNvLinkDeviceType_t type = NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
  if (nvml.nvlink_remote_type != nullptr &&
      nvml.nvlink_remote_type(gpu, number, &type) == NVML_SUCCESS) {
    if (type == NVML_NVLINK_DEVICE_TYPE_GPU)
      link.remote = told(topology::RemoteKind::gpu);
    else if (type == NVML_NVLINK_DEVICE_TYPE_SWITCH)
      link.remote = told(topology::RemoteKind::nvswitch);
    else if (type == NVML_NVLINK_DEVICE_TYPE_IBMNPU)
      link.remote = told(topology::RemoteKind::cpu);
  }
  nvmlPciInfo_t pci{};
  if (nvml.nvlink_remote_pci != nullptr &&
      nvml.nvlink_remote_pci(gpu, number, &pci) == NVML_SUCCESS)
    link.remote_bus_id = told(bus_id_of(pci));
}

Fact<std::vector<topology::NvLink>> links_of(const NvmlFunctions& nvml, nvmlDevice_t gpu) {
  std::vector<topology::NvLink> links;
  bool answered = true; // "you have no such link" is an answer, a lost GPU is none
  for (unsigned number = 0; number < NVML_NVLINK_MAX_LINKS; ++number) {
    nvmlEnableState_t active = NVML_FEATURE_DISABLED;
    nvmlReturn_t code = nvml.nvlink_state(gpu, number, &active);
    if (code == NVML_ERROR_NOT_SUPPORTED && number == 0)
      break;
    if (code != NVML_SUCCESS) {
      answered =
          answered && (code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_INVALID_ARGUMENT);
      continue;
    }
    topology::NvLink link;
    link.number = told(static_cast<int>(number));
    link.active = told(active == NVML_FEATURE_ENABLED);
    if (*link.active) {
      link.version = told(nvlink_version(nvml, gpu, number));
      add_remote(nvml, gpu, number, link);
    }
    links.push_back(std::move(link));
  }
  if (links.empty() && !answered)
    return {};
  add_rates(nvml, gpu, links);
  return told(std::move(links));
}

std::string fabric_state(nvmlGpuFabricState_t state) {
  constexpr std::array k_states{"not_supported", "not_started", "in_progress", "completed"};
  return state < k_states.size() ? k_states[state] : std::to_string(state);
}

// The mask's questions that the driver answers with "yes, something is wrong".
std::optional<std::string> fabric_health(unsigned mask) {
  constexpr std::array k_complaints{"bandwidth degraded", "route recovery in progress",
                                    "route unhealthy", "access timeout recovery in progress"};
  std::string complaints;
  bool answered = false;
  for (std::size_t i = 0; i < k_complaints.size(); ++i) {
    unsigned answer = mask >> (2 * i) & 3U; // 0 not supported, 1 true, 2 false
    answered = answered || answer != 0;
    if (answer == 1)
      complaints += (complaints.empty() ? "" : ", ") + std::string(k_complaints[i]);
  }
  if (unsigned configuration = mask >> 8 & 0xfU; configuration != 0) { // 1: correct
    answered = true;
    if (configuration > 1)
      complaints += (complaints.empty() ? "" : ", ") + std::string("incorrect configuration");
  }
  if (!answered)
    return std::nullopt;
  return complaints.empty() ? "healthy" : complaints;
}

template <typename Info>
void fill_fabric(const NvmlFunctions& nvml, const Info& info, topology::Fabric& fabric) {
  fabric.state = told(fabric_state(info.state));
  if (info.state != NVML_GPU_FABRIC_STATE_COMPLETED)
    return; // the other fields mean something only then
  fabric.status =
      told(std::string(info.status == NVML_SUCCESS ? "success" : nvml.error_string(info.status)));
  fabric.clique = told(static_cast<int>(info.cliqueId));
  std::string uuid;
  for (std::size_t i = 0; i < std::size(info.clusterUuid); ++i)
    uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                        info.clusterUuid[i]);
  if (uuid.find_first_not_of("0-") != std::string::npos) // all zero: no fabric beyond this host
    fabric.cluster_uuid = told(uuid);
}

topology::Fabric fabric_of(const NvmlFunctions& nvml, nvmlDevice_t gpu) {
  topology::Fabric fabric;
  nvmlGpuFabricInfo_v2_t info{};
  info.version = nvmlGpuFabricInfo_v2;
  nvmlGpuFabricInfo_t old{};
  if (nvml.fabric_info_v != nullptr && nvml.fabric_info_v(gpu, &info) == NVML_SUCCESS) {
    fill_fabric(nvml, info, fabric);
    if (info.state == NVML_GPU_FABRIC_STATE_COMPLETED)
      fabric.health = told(fabric_health(info.healthMask));
  } else if (nvml.fabric_info != nullptr && nvml.fabric_info(gpu, &old) == NVML_SUCCESS) {
    fill_fabric(nvml, old, fabric);
  }
  return fabric;
}

void add_power(const NvmlFunctions& nvml, nvmlDevice_t device, topology::Gpu& gpu) {
  if (auto milliwatts = number(nvml.power_limit, device))
    gpu.power_limit_w = told(*milliwatts / 1000.0);
  unsigned least = 0;
  unsigned most = 0;
  if (nvml.power_limits != nullptr && nvml.power_limits(device, &least, &most) == NVML_SUCCESS)
    gpu.power_limit_max_w = told(most / 1000.0);
}

void add_pcie(const NvmlFunctions& nvml, nvmlDevice_t device, topology::PcieLink& pcie) {
  pcie.generation_now = told(number(nvml.pcie_generation, device));
  pcie.generation_gpu_max = told(number(nvml.pcie_generation_gpu_max, device));
  pcie.generation_slot_max = told(number(nvml.pcie_generation_max, device));
  pcie.width_now = told(number(nvml.pcie_width, device));
  pcie.width_slot_max = told(number(nvml.pcie_width_max, device));
}

topology::Gpu describe(const NvmlFunctions& nvml, int index, nvmlDevice_t device) {
  topology::Gpu gpu;
  gpu.index = index;
  gpu.bus_id = told(bus_id_of(nvml, device));
  gpu.name = told(text(nvml.name, device));
  gpu.uuid = told(text(nvml.uuid, device));
  int major = 0;
  int minor = 0;
  if (nvml.compute_capability != nullptr &&
      nvml.compute_capability(device, &major, &minor) == NVML_SUCCESS)
    gpu.compute_capability = told(fmt::format("{}.{}", major, minor));
  nvmlMemory_t memory{};
  if (nvml.memory_info(device, &memory) == NVML_SUCCESS)
    gpu.memory_bytes = told(std::uint64_t{memory.total});
  modes<nvmlEnableState_t>(nvml.ecc_mode, device, gpu.ecc_now, gpu.ecc_pending);
  modes<unsigned>(nvml.mig_mode, device, gpu.mig_now, gpu.mig_pending);
  nvmlEnableState_t persistence = NVML_FEATURE_DISABLED;
  if (nvml.persistence_mode != nullptr &&
      nvml.persistence_mode(device, &persistence) == NVML_SUCCESS)
    gpu.persistence = told(persistence == NVML_FEATURE_ENABLED);
  gpu.sm_clock_mhz = told(number(nvml.clock, device, NVML_CLOCK_SM));
  gpu.sm_clock_max_mhz = told(number(nvml.clock_max, device, NVML_CLOCK_SM));
  gpu.memory_clock_mhz = told(number(nvml.clock, device, NVML_CLOCK_MEM));
  gpu.memory_clock_max_mhz = told(number(nvml.clock_max, device, NVML_CLOCK_MEM));
  add_power(nvml, device, gpu);
  add_pcie(nvml, device, gpu.pcie);
  gpu.cpu_affinity = told(bits(nvml.cpu_affinity, device));
  if (auto nodes =
          bits(nvml.memory_affinity, device, nvmlAffinityScope_t{NVML_AFFINITY_SCOPE_NODE});
      nodes && nodes->size() == 1)
    gpu.numa_node = told(nodes->front());
  gpu.nvlinks = links_of(nvml, device);
  gpu.fabric = fabric_of(nvml, device);
  return gpu;
}

topology::PathType path_of(nvmlGpuTopologyLevel_t level) {
  using topology::PathType;
  switch (level) {
  case NVML_TOPOLOGY_SINGLE:
    return PathType::pix;
  case NVML_TOPOLOGY_MULTIPLE:
    return PathType::pxb;
  case NVML_TOPOLOGY_HOSTBRIDGE:
    return PathType::phb;
  case NVML_TOPOLOGY_NODE:
    return PathType::node;
  case NVML_TOPOLOGY_SYSTEM:
    return PathType::sys;
  default: // two GPUs on one board (Tesla K80) have no label of their own
    return level == NVML_TOPOLOGY_INTERNAL ? PathType::pix : PathType::unknown;
  }
}

std::optional<topology::P2pStatus> p2p_status(const NvmlFunctions& nvml, nvmlDevice_t from,
                                              nvmlDevice_t to, nvmlGpuP2PCapsIndex_t what) {
  using topology::P2pStatus;
  nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;
  if (nvml.p2p_status == nullptr || nvml.p2p_status(from, to, what, &status) != NVML_SUCCESS)
    return std::nullopt;
  constexpr std::array k_statuses{P2pStatus::ok,
                                  P2pStatus::chipset_not_supported,
                                  P2pStatus::gpu_not_supported,
                                  P2pStatus::topology_not_supported,
                                  P2pStatus::disabled_by_regkey,
                                  P2pStatus::not_supported};
  auto index = static_cast<std::size_t>(status);
  return index < k_statuses.size() ? std::optional(k_statuses[index]) : std::nullopt;
}

void add_pairs(const NvmlFunctions& nvml, const std::vector<nvmlDevice_t>& devices,
               topology::Host& host) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = 0; j < devices.size(); ++j) {
      nvmlDevice_t from = devices[i];
      nvmlDevice_t to = devices[j];
      if (i == j || from == nullptr || to == nullptr)
        continue;
      topology::P2pCapability pair;
      pair.from = static_cast<int>(i);
      pair.to = static_cast<int>(j);
      pair.read = told(p2p_status(nvml, from, to, NVML_P2P_CAPS_INDEX_READ));
      pair.write = told(p2p_status(nvml, from, to, NVML_P2P_CAPS_INDEX_WRITE));
      pair.atomics = told(p2p_status(nvml, from, to, NVML_P2P_CAPS_INDEX_ATOMICS));
      pair.nvlink = told(p2p_status(nvml, from, to, NVML_P2P_CAPS_INDEX_NVLINK));
      if (pair.read || pair.write || pair.atomics || pair.nvlink)
        host.p2p.push_back(pair);
      nvmlGpuTopologyLevel_t level = -1;
      if (i < j && nvml.common_ancestor != nullptr &&
          nvml.common_ancestor(from, to, &level) == NVML_SUCCESS)
        host.stated_paths.push_back({{topology::DeviceKind::gpu, pair.from},
                                     {topology::DeviceKind::gpu, pair.to},
                                     {path_of(level), 0},
                                     Source::nvml});
    }
}

// In NVML's order; null where it counts a GPU and cannot open it, so that the others keep their
// numbers.
std::vector<nvmlDevice_t> devices_of(const NvmlFunctions& nvml,
                                     std::vector<std::string>& complaints) {
  unsigned count = 0;
  std::vector<nvmlDevice_t> devices;
  if (nvml.count == nullptr || nvml.by_index == nullptr || nvml.count(&count) != NVML_SUCCESS)
    return devices;
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = nullptr;
    if (nvmlReturn_t code = nvml.by_index(i, &device); code != NVML_SUCCESS) {
      device = nullptr;
      complaints.push_back(fmt::format("GPU {}: counted by nvml, which cannot open it: {}: lost?",
                                       i, nvml.error_string(code)));
    }
    devices.push_back(device);
  }
  return devices;
}

} // namespace

topology::Host nvml_topology(const NvmlLibrary& nvml, std::vector<std::string>& complaints) {
  NvmlFunctions functions(nvml.library());
  topology::Host host;
  std::string driver = nvml.driver_version();
  if (!driver.empty())
    host.driver_version = told(driver);
  int cuda = 0; // 13000 is 13.0
  if (functions.cuda_driver_version != nullptr &&
      functions.cuda_driver_version(&cuda) == NVML_SUCCESS)
    host.cuda_driver_version = told(fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10));
  std::vector<nvmlDevice_t> devices = devices_of(functions, complaints);
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i] != nullptr)
      host.gpus.push_back(describe(functions, static_cast<int>(i), devices[i]));
  add_pairs(functions, devices, host);
  return host;
}

} // namespace ncclprobe::nvidia
