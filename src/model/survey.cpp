// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/survey.h"

#include <algorithm>
#include <array>

namespace ncclprobe::model {

const Setting* Survey::variable(std::string_view name) const {
  auto found = std::ranges::find_if(process.environment,
                                    [&](const Setting& one) { return one.name == name; });
  return found == process.environment.end() ? nullptr : &*found;
}

bool bears_on_communication(std::string_view name) {
  if (name == "NCCLPROBE_JOB_SECRET") // never leaves the process
    return false;
  for (std::string_view prefix : {"NCCL_", "NCCLPROBE_", "GLOO_", "CUDA_", "UCX_", "OMP_"})
    if (name.starts_with(prefix))
      return true;
  constexpr std::array k_others{"NVIDIA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE", "LD_LIBRARY_PATH",
                                "LD_PRELOAD"};
  return std::ranges::find(k_others, name) != k_others.end();
}

bool may_differ_between_ranks(std::string_view name) {
  constexpr std::array k_names{
      "NCCL_HOSTID",          "NCCL_SOCKET_IFNAME",    "NCCL_IB_HCA",         "NCCL_DEBUG",
      "NCCL_DEBUG_FILE",      "NCCL_TOPO_FILE",        "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_FILE",
      "NCCL_GRAPH_DUMP_FILE", "NCCL_CONF_FILE",        "NCCL_DEBUG_SUBSYS",   "GLOO_SOCKET_IFNAME",
      "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"};
  return std::ranges::find(k_names, name) != k_names.end();
}

} // namespace ncclprobe::model
