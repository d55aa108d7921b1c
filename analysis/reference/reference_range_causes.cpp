// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/reference/reference_range_causes.h"

#include <fmt/format.h>

namespace ncclprobe::analysis {
namespace {

constexpr std::uint64_t k_latency_bound_bytes = 1 << 20;
// The path through the host reaches a tenth of an NVLink.
constexpr double k_host_path_share = 0.2;

} // namespace

std::vector<std::string> likely_causes(const NodeLinks& links, const MeasuredFigure& figure,
                                       const RangeVerdict& verdict) {
  std::vector<std::string> causes;
  bool nvlink = links.nvlink_gb_per_s.value_or(0) > 0;
  if (figure.kind.over_host_link()) {
    causes = {"the PCIe link runs below its generation or width (nvidia-smi -q, under load)",
              "the process or its memory is on the other NUMA node (numactl, launcher binding)",
              "pageable instead of pinned memory, or the IOMMU translates each access"};
    return causes;
  }
  if (figure.bytes > 0 && figure.bytes < k_latency_bound_bytes)
    return {"the host is slow to launch: CPU frequency, other work on its cores, a container's CPU "
            "quota",
            "ranks are bound to the wrong NUMA node, or several to one core",
            "NCCL_LAUNCH_MODE, NCCL_PROTO or NCCL_ALGO is set"};
  if (nvlink) {
    if (figure.gb_per_s < k_host_path_share * *links.nvlink_gb_per_s)
      causes.push_back(
          "NVLink is not used: NCCL_P2P_DISABLE or NCCL_P2P_LEVEL is set, the ranks are "
          "in containers that cannot see each other, or P2P is disabled by the driver");
    if (verdict.basis.find("NVLS") != std::string::npos)
      causes.push_back(
          "NVLink SHARP is not in use: fabric manager, multicast not available in this "
          "VM or container, NCCL's silent fall-back in 2.27 and 2.28");
    causes.push_back("fewer NVLinks are up than the model has (nvidia-smi nvlink -s), or they "
                     "retransmit (nvidia-smi nvlink -e)");
  } else {
    causes.push_back("the path between the GPUs crosses the CPU or the link between sockets "
                     "(nvidia-smi topo -m: PHB, NODE, SYS)");
    causes.push_back("P2P does not work and NCCL uses shared memory: GeForce, ACS or IOMMU on, "
                     "NCCL_P2P_DISABLE set");
    causes.push_back("a PCIe link runs below its generation or width under load");
  }
  causes.push_back("GPUs run slower than they can: heat, power limit, fixed clocks");
  causes.push_back("another process uses the GPUs or the links");
  if (!figure.kind.is_collective())
    return causes;
  causes.push_back("NCCL_ALGO, NCCL_PROTO, NCCL_MAX_CTAS or NCCL_BUFFSIZE is set, here or in "
                   "nccl.conf");
  return causes;
}

std::vector<std::string> why_no_speed_up(const NodeLinks& links) {
  std::vector<std::string> reasons;
  bool nvlink = links.nvlink_gb_per_s.value_or(0) > 0;
  auto link = nvlink ? links.nvlink_gb_per_s : links.pcie_gb_per_s;
  // Two GPUs send each gradient once with any algorithm: 2(n-1)/n is 1.
  std::string cost =
      link ? fmt::format("1 GB of gradients takes at least {:.0f} ms per step at the link's "
                         "ceiling of {:.1f} GB/s; a step with less compute time cannot hide it",
                         1000 / *link, *link)
           : "the link's rate is unknown: measure it (ncclprobe, all_reduce at the size of the "
             "gradients)";
  std::string interconnect = fmt::format("the interconnect: {}", cost);
  std::string path =
      "NCCL takes a detour: P2P off (NCCL_P2P_DISABLE, ACS, IOMMU), shared memory or "
      "sockets between GPUs of one host (NCCL_DEBUG=INFO, lines with 'via')";
  std::string heat = "heat or power: two cards in one chassis throttle where one did not "
                     "(nvidia-smi -q -d PERFORMANCE, under load)";
  if (nvlink)
    reasons = {path, heat, interconnect};
  else
    reasons = {interconnect, path, heat};
  reasons.push_back("the batch was split instead of kept per GPU, so each GPU computes too little");
  reasons.push_back("the input pipeline, the host's cores or a lock feed only one GPU (to measure "
                    "the cost of input copies: ncclprobe run --workload ddp --model NAME "
                    "--input-copy pinned:SIZE,pageable:SIZE)");
  reasons.push_back("gradients are sent after the backward pass instead of during it (bucket size, "
                    "find_unused_parameters)");
  return reasons;
}

} // namespace ncclprobe::analysis
