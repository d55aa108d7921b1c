// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p_limits.h"

#include "knowledge/gpu_models.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

const model::RankPlace* place_of(const model::RunHeader& header, int rank) {
  auto found = std::find_if(header.ranks.begin(), header.ranks.end(),
                            [&](const model::RankPlace& place) { return place.rank == rank; });
  return found == header.ranks.end() ? nullptr : &*found;
}

const model::Gpu* gpu_of(const model::RunHeader& header, const model::RankPlace& place) {
  if (place.host < 0 || place.host >= static_cast<int>(header.hosts.size()))
    return nullptr;
  const auto& gpus = header.hosts[static_cast<std::size_t>(place.host)].gpus;
  auto found = std::find_if(gpus.begin(), gpus.end(),
                            [&](const model::Gpu& gpu) { return gpu.index == place.device; });
  return found == gpus.end() ? nullptr : &*found;
}

// One way, of a link of the generation that GPUs of this compute capability have.
std::optional<double> nvlink_gb_per_s(const model::Gpu& gpu) {
  auto capability = knowledge::parse_compute_capability(gpu.compute_capability);
  return capability ? knowledge::nvlink_gb_per_s(*capability) : std::nullopt;
}

P2pLimit host_limit(const model::Gpu* gpu) {
  auto models =
      gpu ? knowledge::find_gpu_models(gpu->name) : std::vector<const knowledge::GpuModel*>{};
  if (models.empty() || !models.front()->pcie_gb_per_s)
    return {std::nullopt, "the PCIe link of the GPU is not known", "host"};
  return {models.front()->pcie_gb_per_s,
          fmt::format("PCIe link of a {}, theoretical", models.front()->name), "host"};
}

} // namespace

P2pLimit p2p_limit(const model::RunHeader& header, const workload::P2pTransfer& transfer) {
  if (header.backend != "nvidia")
    return {std::nullopt, "not known for this backend", "ranks"};
  const model::RankPlace* from = place_of(header, transfer.from.rank);
  const model::RankPlace* to = place_of(header, transfer.to.rank);
  if (!from || !to)
    return {std::nullopt, "the run does not say where its ranks are", "?"};
  if (transfer.from.host || transfer.to.host)
    return host_limit(gpu_of(header, *to));
  if (from->host != to->host)
    return {std::nullopt, "the network between the hosts is not known", "network"};
  const model::Gpu* source = gpu_of(header, *from);
  const model::Gpu* target = gpu_of(header, *to);
  if (from == to || !source || !target)
    return {std::nullopt, "not known", from == to ? "own" : "?"};
  int links = std::min(source->nvlinks.value_or(0), target->nvlinks.value_or(0));
  auto link = nvlink_gb_per_s(*source);
  if (links == 0 || !link)
    return {std::nullopt, "the way between the GPUs is not known", "?"};
  return {links * *link, fmt::format("{} NVLinks x {:g} GB/s", links, *link),
          fmt::format("NV{}", links)};
}

} // namespace ncclprobe::analysis
