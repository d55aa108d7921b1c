// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nvml_topology.h"

#include "machine/fabric_health.h"

#include "nvidia/nvml_gpu.h"

#include <fmt/ranges.h>

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

// Present and pending state of a mode.
template <typename State>
void modes(const NvmlGpu& gpu, const char* name, Fact<bool>& now, Fact<bool>& pending) {
  State current{};
  State next{};
  if (!gpu.call(name, &current, &next))
    return;
  now = told(current != 0);
  pending = told(next != 0);
}

// In a virtual machine the far end of a link has the address ffffffff:ff:ff.0, which is invalid: a
// bus has 32 devices.
std::optional<std::string> bus_id_of(const nvmlPciInfo_t& pci) {
  auto normal = topology::normal_bus_id(pci.busId);
  if (!normal || normal->ends_with("ff:ff.0"))
    return std::nullopt;
  return normal;
}

std::optional<std::string> bus_id_of(const NvmlGpu& gpu) {
  auto pci = gpu.get<nvmlPciInfo_t>("nvmlDeviceGetPciInfo_v3");
  return pci ? bus_id_of(*pci) : std::nullopt;
}

// Positions of the set bits, in NVML's masks of CPUs and NUMA nodes.
template <typename... More>
std::optional<std::vector<int>> bits(const NvmlGpu& gpu, const char* name, More... more) {
  constexpr unsigned k_bits = 8 * sizeof(unsigned long);
  std::array<unsigned long, 8192 / k_bits> set{}; // the largest number of CPUs that Linux supports
  if (!gpu.call(name, static_cast<unsigned>(set.size()), set.data(), more...))
    return std::nullopt;
  std::vector<int> positions;
  for (unsigned i = 0; i < 8192; ++i)
    if ((set[i / k_bits] >> (i % k_bits) & 1U) != 0)
      positions.push_back(static_cast<int>(i));
  return positions;
}

// nvmlNvlinkVersion_t
std::optional<std::string> nvlink_version(const NvmlGpu& gpu, unsigned link) {
  constexpr std::array k_versions{"", "1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0", "6.0"};
  auto code = static_cast<std::size_t>(gpu.number("nvmlDeviceGetNvLinkVersion", link).value_or(0));
  if (code == 0 || code >= k_versions.size())
    return std::nullopt;
  return k_versions[code];
}

// MB/s of one field; nothing if the driver does not know the field.
std::optional<double> gb_per_s(const nvmlFieldValue_t& field) {
  if (field.nvmlReturn != NVML_SUCCESS)
    return std::nullopt;
  unsigned long long mb_per_s =
      field.valueType == NVML_VALUE_TYPE_UNSIGNED_INT ? field.value.uiVal : field.value.ullVal;
  if (mb_per_s == 0)
    return std::nullopt;
  return static_cast<double>(mb_per_s) / 1000;
}

// Each link's own rate in one call, else the common rate of all active links.
void add_rates(const NvmlGpu& gpu, std::vector<topology::NvLink>& links) {
  if (links.empty())
    return;
  constexpr const char* k_fields = "nvmlDeviceGetFieldValues";
  std::vector<nvmlFieldValue_t> fields(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    fields[i].fieldId = NVML_FI_DEV_NVLINK_GET_SPEED;
    fields[i].scopeId = static_cast<unsigned>(*links[i].number);
    fields[i].nvmlReturn = -1;
  }
  if (!gpu.call(k_fields, static_cast<int>(fields.size()), fields.data()))
    fields.clear();
  nvmlFieldValue_t common{};
  common.fieldId = NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON;
  common.nvmlReturn = -1;
  std::optional<double> common_rate;
  if (gpu.call(k_fields, 1, &common))
    common_rate = gb_per_s(common);
  for (std::size_t i = 0; i < links.size(); ++i) {
    std::optional<double> own = i < fields.size() ? gb_per_s(fields[i]) : std::nullopt;
    if (own || links[i].active.value_or(false))
      links[i].gb_per_s = told(own ? own : common_rate);
  }
}

void add_remote(const NvmlGpu& gpu, unsigned number, topology::NvLink& link) {
  auto type = gpu.get<nvmlIntNvLinkDeviceType_t>("nvmlDeviceGetNvLinkRemoteDeviceType", number);
  if (type == NVML_NVLINK_DEVICE_TYPE_GPU)
    link.remote = told(topology::RemoteKind::gpu);
  else if (type == NVML_NVLINK_DEVICE_TYPE_SWITCH)
    link.remote = told(topology::RemoteKind::nvswitch);
  else if (type == NVML_NVLINK_DEVICE_TYPE_IBMNPU)
    link.remote = told(topology::RemoteKind::cpu);
  if (auto pci = gpu.get<nvmlPciInfo_t>("nvmlDeviceGetNvLinkRemotePciInfo_v2", number))
    link.remote_bus_id = told(bus_id_of(*pci));
}

Fact<std::vector<topology::NvLink>> links_of(const NvmlGpu& gpu) {
  auto told_links = read_nvlinks(gpu);
  if (!told_links)
    return {};
  std::vector<topology::NvLink> links;
  for (const NvmlNvLink& one : *told_links) {
    topology::NvLink& link = links.emplace_back();
    link.number = told(static_cast<int>(one.number));
    link.active = told(one.active);
    if (one.active) {
      link.version = told(nvlink_version(gpu, one.number));
      add_remote(gpu, one.number, link);
    }
  }
  add_rates(gpu, links);
  return told(std::move(links));
}

std::optional<std::string> health_in_words(unsigned mask) {
  auto complaints = topology::fabric_complaints(mask);
  if (!complaints)
    return std::nullopt;
  return complaints->empty() ? "healthy" : fmt::format("{}", fmt::join(*complaints, ", "));
}

topology::Fabric fabric_of(const NvmlGpu& gpu) {
  topology::Fabric fabric;
  auto info = read_fabric(gpu);
  if (!info)
    return fabric;
  fabric.state = told(fabric_state_name(info->state).value_or(std::to_string(info->state)));
  if (info->state != NVML_GPU_FABRIC_STATE_COMPLETED)
    return fabric;
  fabric.status = told(
      std::string(info->status == NVML_SUCCESS ? "success" : gpu.nvml().error_text(info->status)));
  fabric.clique = told(static_cast<int>(info->clique));
  if (info->cluster_uuid.find_first_not_of("0-") != std::string::npos)
    fabric.cluster_uuid = told(info->cluster_uuid);
  if (info->health)
    fabric.health = told(health_in_words(*info->health));
  return fabric;
}

void add_power(const NvmlGpu& ask, topology::Gpu& gpu) {
  if (auto milliwatts = ask.number("nvmlDeviceGetPowerManagementLimit"))
    gpu.power_limit_w = told(*milliwatts / 1000.0);
  unsigned least = 0;
  unsigned most = 0;
  if (ask.call("nvmlDeviceGetPowerManagementLimitConstraints", &least, &most))
    gpu.power_limit_max_w = told(most / 1000.0);
}

void add_pcie(const NvmlGpu& ask, topology::PcieLink& pcie) {
  pcie.generation_now = told(ask.number("nvmlDeviceGetCurrPcieLinkGeneration"));
  pcie.generation_gpu_max = told(ask.number("nvmlDeviceGetGpuMaxPcieLinkGeneration"));
  pcie.generation_slot_max = told(ask.number("nvmlDeviceGetMaxPcieLinkGeneration"));
  pcie.width_now = told(ask.number("nvmlDeviceGetCurrPcieLinkWidth"));
  pcie.width_slot_max = told(ask.number("nvmlDeviceGetMaxPcieLinkWidth"));
}

topology::Gpu describe(const NvmlGpu& ask, int index) {
  topology::Gpu gpu;
  gpu.index = index;
  gpu.bus_id = told(bus_id_of(ask));
  gpu.name = told(ask.text("nvmlDeviceGetName"));
  gpu.uuid = told(ask.text("nvmlDeviceGetUUID"));
  gpu.vbios = told(ask.text("nvmlDeviceGetVbiosVersion"));
  int major = 0;
  int minor = 0;
  if (ask.call("nvmlDeviceGetCudaComputeCapability", &major, &minor))
    gpu.compute_capability = told(fmt::format("{}.{}", major, minor));
  if (auto memory = ask.get<nvmlMemory_t>("nvmlDeviceGetMemoryInfo"))
    gpu.memory_bytes = told(std::uint64_t{memory->total});
  modes<nvmlEnableState_t>(ask, "nvmlDeviceGetEccMode", gpu.ecc_now, gpu.ecc_pending);
  modes<unsigned>(ask, "nvmlDeviceGetMigMode", gpu.mig_now, gpu.mig_pending);
  gpu.persistence = told(ask.enabled("nvmlDeviceGetPersistenceMode"));
  gpu.sm_clock_mhz = told(ask.number("nvmlDeviceGetClockInfo", NVML_CLOCK_SM));
  gpu.sm_clock_max_mhz = told(ask.number("nvmlDeviceGetMaxClockInfo", NVML_CLOCK_SM));
  gpu.memory_clock_mhz = told(ask.number("nvmlDeviceGetClockInfo", NVML_CLOCK_MEM));
  gpu.memory_clock_max_mhz = told(ask.number("nvmlDeviceGetMaxClockInfo", NVML_CLOCK_MEM));
  add_power(ask, gpu);
  add_pcie(ask, gpu.pcie);
  gpu.cpu_affinity = told(bits(ask, "nvmlDeviceGetCpuAffinity"));
  if (auto nodes =
          bits(ask, "nvmlDeviceGetMemoryAffinity", nvmlAffinityScope_t{NVML_AFFINITY_SCOPE_NODE});
      nodes && nodes->size() == 1)
    gpu.numa_node = told(nodes->front());
  else if (nodes && nodes->size() > 1)
    gpu.near_numa_nodes = told(std::move(*nodes));
  gpu.nvlinks = links_of(ask);
  gpu.fabric = fabric_of(ask);
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

std::optional<topology::P2pStatus> p2p_status(const NvmlGpu& from, nvmlDevice_t to,
                                              nvmlGpuP2PCapsIndex_t what) {
  using topology::P2pStatus;
  auto status = from.get<nvmlGpuP2PStatus_t>("nvmlDeviceGetP2PStatus", to, what);
  if (!status)
    return std::nullopt;
  constexpr std::array k_statuses{P2pStatus::ok,
                                  P2pStatus::chipset_not_supported,
                                  P2pStatus::gpu_not_supported,
                                  P2pStatus::topology_not_supported,
                                  P2pStatus::disabled_by_regkey,
                                  P2pStatus::not_supported};
  auto index = static_cast<std::size_t>(*status);
  return index < k_statuses.size() ? std::optional(k_statuses[index]) : std::nullopt;
}

void add_pairs(const NvmlLibrary& nvml, const std::vector<nvmlDevice_t>& devices,
               topology::Host& host) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = 0; j < devices.size(); ++j) {
      nvmlDevice_t to = devices[j];
      if (i == j || devices[i] == nullptr || to == nullptr)
        continue;
      NvmlGpu from(nvml, devices[i]);
      topology::P2pCapability pair;
      pair.from = static_cast<int>(i);
      pair.to = static_cast<int>(j);
      pair.read = told(p2p_status(from, to, NVML_P2P_CAPS_INDEX_READ));
      pair.write = told(p2p_status(from, to, NVML_P2P_CAPS_INDEX_WRITE));
      pair.atomics = told(p2p_status(from, to, NVML_P2P_CAPS_INDEX_ATOMICS));
      pair.nvlink = told(p2p_status(from, to, NVML_P2P_CAPS_INDEX_NVLINK));
      if (pair.read || pair.write || pair.atomics || pair.nvlink)
        host.p2p.push_back(pair);
      auto level = from.get<nvmlGpuTopologyLevel_t>("nvmlDeviceGetTopologyCommonAncestor", to);
      if (i < j && level)
        host.stated_paths.push_back({{topology::DeviceKind::gpu, pair.from},
                                     {topology::DeviceKind::gpu, pair.to},
                                     {path_of(*level), 0},
                                     Source::nvml});
    }
}

} // namespace

topology::Host nvml_topology(const NvmlLibrary& nvml, std::vector<std::string>& complaints) {
  topology::Host host;
  std::string driver = nvml.driver_version();
  if (!driver.empty())
    host.driver_version = told(driver);
  int cuda = 0; // 13000 is 13.0
  nvmlReturn_t (*cuda_version)(int*) = nvml.library().optional("nvmlSystemGetCudaDriverVersion_v2");
  if (cuda_version != nullptr && cuda_version(&cuda) == NVML_SUCCESS)
    host.cuda_driver_version = told(fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10));
  std::vector<nvmlDevice_t> devices = nvml_devices(nvml, complaints);
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i] != nullptr)
      host.gpus.push_back(describe(NvmlGpu(nvml, devices[i]), static_cast<int>(i)));
  add_pairs(nvml, devices, host);
  return host;
}

} // namespace ncclprobe::nvidia
