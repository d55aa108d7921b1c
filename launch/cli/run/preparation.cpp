// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/run/preparation.h"

#include "base/readable_bytes.h"
#include "workload/plan.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

// Generous size of a CUDA context with NCCL's kernels and buffers.
constexpr std::uint64_t k_context_bytes = 3ULL << 29;
// At most: one is being torn down, one connects.
constexpr std::uint64_t k_contexts = 2;

// Why a GPU cannot be shared by two trials; empty if it can.
std::string obstacle(const model::CudaDevice& gpu, std::uint64_t needed_bytes) {
  if (gpu.compute_mode == "exclusive_process" || gpu.compute_mode == "prohibited")
    return "its compute mode is " + gpu.compute_mode;
  if (gpu.free_bytes < needed_bytes)
    return fmt::format("{} of its memory are free, two trials may need {}",
                       base::readable_bytes(gpu.free_bytes), base::readable_bytes(needed_bytes));
  return "";
}

} // namespace

Preparation choose_preparation(const std::string& asked, const std::string& backend,
                               const std::vector<model::HostInventory>& hosts,
                               const launch::Layout& layout,
                               const std::vector<model::TrialSpec>& trials) {
  if (asked == "off")
    return {false, "asked for"};
  if (backend != "nvidia")
    return asked == "on" ? Preparation{true, "asked for"}
                         : Preparation{false, "it only helps on GPUs"};
  std::uint64_t peak_bytes = 0;
  for (const model::TrialSpec& trial : trials)
    peak_bytes = std::max(peak_bytes, workload::peak_bytes(trial.cells));
  std::uint64_t needed_bytes = 2 * peak_bytes + k_contexts * k_context_bytes;
  for (const launch::RankPlacement& placement : layout.placements) {
    const model::HostInventory& host = hosts.at(placement.host);
    std::string problem = obstacle(host.gpus.at(placement.device), needed_bytes);
    if (!problem.empty())
      return {false, fmt::format("GPU {} of {}: {}", placement.device, host.hostname, problem)};
  }
  return {true, asked == "on" ? "asked for" : "every GPU can be shared by two trials"};
}

} // namespace ncclprobe::cli
