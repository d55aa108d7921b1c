// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/nvml_library.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::nvidia {

// NVML's answers about one GPU, by function name. An answer is absent if this driver's NVML lacks
// the function or returns "not supported" or "no permission". The arguments' types must be those of
// the function in nvml_api.h.
class NvmlGpu {
public:
  NvmlGpu(const NvmlLibrary& nvml, nvmlDevice_t gpu) : nvml_(nvml), gpu_(gpu) {}

  const NvmlLibrary& nvml() const { return nvml_; }
  nvmlDevice_t handle() const { return gpu_; }

  // Calls function(gpu, arguments...); nothing if there is no such function or GPU.
  template <typename... Arguments>
  std::optional<nvmlReturn_t> code(const char* name, Arguments... arguments) const {
    nvmlReturn_t (*function)(nvmlDevice_t, Arguments...) = nvml_.library().optional(name);
    if (function == nullptr || gpu_ == nullptr)
      return std::nullopt;
    return function(gpu_, arguments...);
  }
  template <typename... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    return code(name, arguments...) == NVML_SUCCESS;
  }
  // function(gpu, what..., &value)
  template <typename Value, typename... What>
  std::optional<Value> get(const char* name, What... what) const {
    Value value{};
    if (!call(name, what..., &value))
      return std::nullopt;
    return value;
  }
  template <typename... What>
  std::optional<int> number(const char* name, What... what) const {
    auto value = get<unsigned>(name, what...);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  }
  std::optional<bool> enabled(const char* name) const {
    auto value = get<nvmlEnableState_t>(name);
    return value ? std::optional(*value == NVML_FEATURE_ENABLED) : std::nullopt;
  }
  std::optional<std::string> text(const char* name) const {
    std::array<char, 128> text{};
    if (!call(name, text.data(), static_cast<unsigned>(text.size())))
      return std::nullopt;
    return text.data();
  }

private:
  const NvmlLibrary& nvml_;
  nvmlDevice_t gpu_;
};

// In NVML's order; null if NVML counts a GPU but cannot open it, so the others keep their
// numbers. Each such GPU adds a complaint.
std::vector<nvmlDevice_t> nvml_devices(const NvmlLibrary& nvml,
                                       std::vector<std::string>& complaints);

struct NvmlNvLink {
  unsigned number = 0;
  bool active = false;
};
// The NVLinks of a GPU; an empty list if NVML says that it has none. Nothing if NVML does not
// report them.
std::optional<std::vector<NvmlNvLink>> read_nvlinks(const NvmlGpu& gpu);

// Whether and how a GPU has joined the NVLink fabric. Status and the fields after it are valid only
// once it has.
struct NvmlFabric {
  nvmlGpuFabricState_t state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
  nvmlReturn_t status = NVML_SUCCESS;
  unsigned clique = 0;
  std::string cluster_uuid; // all zero: no fabric beyond this host
  std::optional<unsigned> health;
};
std::optional<NvmlFabric> read_fabric(const NvmlGpu& gpu);

// "completed"; nothing for a state newer than this program.
std::optional<std::string> fabric_state_name(nvmlGpuFabricState_t state);

} // namespace ncclprobe::nvidia
