// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/default_sweep.h"

#include <algorithm>

namespace ncclprobe::workload {

using namespace model;

std::vector<std::vector<Setting>>
default_sweep(const std::string& backend, const std::vector<HostInventory>& hosts, int ranks) {
  if (ranks == 1)
    return {};
  if (backend == "host")
    return {{{"NCCLPROBE_GLOO_ALGORITHM", "ring"}}, {{"NCCLPROBE_GLOO_CHUNK_BYTES", "65536"}}};
  if (backend == "synthetic")
    return {{{"NCCLPROBE_SYNTHETIC_ALPHA_NS", "2000"}}};
  bool nvlink = std::ranges::all_of(hosts, [](const HostInventory& host) {
    return std::ranges::all_of(host.gpus,
                               [](const CudaDevice& gpu) { return gpu.nvlinks.value_or(0) > 0; });
  });
  std::vector<std::vector<Setting>> sweep{{{"NCCL_ALGO", "Ring"}}, {{"NCCL_BUFFSIZE", "8388608"}}};
  if (nvlink) {
    sweep.push_back({{"NCCL_MIN_CTAS", "32"}});
    sweep.push_back({{"NCCL_MAX_CTAS", "8"}});
  } else {
    sweep.push_back({{"NCCL_P2P_LEVEL", "SYS"}});
    sweep.push_back({{"NCCL_P2P_DISABLE", "1"}});
  }
  if (hosts.size() > 1)
    sweep.push_back({{"NCCL_SOCKET_NTHREADS", "4"}, {"NCCL_NSOCKS_PERTHREAD", "4"}});
  return sweep;
}

} // namespace ncclprobe::workload
