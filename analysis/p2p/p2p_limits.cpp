// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p/p2p_limits.h"

#include "analysis/results/rank_gpu.h"
#include "knowledge/gpu_models.h"
#include "topology/links.h"
#include "topology/paths.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

const model::RankPlace* place_of(const model::RunHeader& header, int rank) {
  auto found = std::find_if(header.ranks.begin(), header.ranks.end(),
                            [&](const model::RankPlace& place) { return place.rank == rank; });
  return found == header.ranks.end() ? nullptr : &*found;
}

const topology::Host& topology_of(const model::RunHeader& header, const model::RankPlace& place) {
  static const topology::Host k_unknown;
  bool known = place.host >= 0 && place.host < static_cast<int>(header.hosts.size());
  return known ? header.hosts[static_cast<std::size_t>(place.host)].topology : k_unknown;
}

// The one-way rate of a link of the generation that GPUs of this compute capability have.
std::optional<double> nvlink_gb_per_s(const model::CudaDevice& gpu) {
  auto capability = knowledge::parse_compute_capability(gpu.compute_capability);
  return capability ? knowledge::nvlink_gb_per_s(*capability) : std::nullopt;
}

// The topology numbers GPUs as nvidia-smi does.
const topology::Gpu* in_topology(const topology::Host& host, const model::CudaDevice* gpu) {
  return gpu ? host.gpu_at(gpu->pci_bus_id) : nullptr;
}

// What the inventory knows about the path between two GPUs.
std::optional<P2pLimit> topology_limit(const topology::Host& host, const model::CudaDevice& source,
                                       const model::CudaDevice& target) {
  const topology::Gpu* from = in_topology(host, &source);
  const topology::Gpu* to = in_topology(host, &target);
  if (!from || !to)
    return std::nullopt;
  topology::Ceiling ceiling = topology::ceiling(host, from->index, to->index);
  if (!ceiling.gb_per_s)
    return std::nullopt;
  topology::FoundPath path = topology::path_between(host, {topology::DeviceKind::gpu, from->index},
                                                    {topology::DeviceKind::gpu, to->index});
  return P2pLimit{ceiling.gb_per_s, ceiling.derivation, path.path.label()};
}

P2pLimit host_limit(const topology::Host& host, const model::CudaDevice* gpu) {
  if (const topology::Gpu* known = in_topology(host, gpu)) {
    topology::Ceiling ceiling = topology::host_ceiling(host, known->index);
    if (ceiling.gb_per_s)
      return {ceiling.gb_per_s, ceiling.derivation, "host"};
  }
  auto models =
      gpu ? knowledge::find_gpu_models(gpu->name) : std::vector<const knowledge::GpuModel*>{};
  if (models.empty() || !models.front()->pcie_gb_per_s)
    return {std::nullopt, "the GPU's PCIe link is unknown", "host"};
  return {models.front()->pcie_gb_per_s,
          fmt::format("PCIe link of a {}, theoretical", models.front()->name), "host"};
}

} // namespace

P2pLimit p2p_limit(const model::RunHeader& header, const model::P2pTransfer& transfer) {
  if (header.backend != "nvidia")
    return {std::nullopt, "this backend reports no links", "ranks"};
  const model::RankPlace* from = place_of(header, transfer.from.rank);
  const model::RankPlace* to = place_of(header, transfer.to.rank);
  if (!from || !to)
    return {std::nullopt, "the run does not say where its ranks are", "?"};
  if (transfer.from.host || transfer.to.host)
    return host_limit(topology_of(header, *to), gpu_of(header, *to));
  if (from->host != to->host)
    return {std::nullopt, "the network between the hosts is unknown", "network"};
  const model::CudaDevice* source = gpu_of(header, *from);
  const model::CudaDevice* target = gpu_of(header, *to);
  if (from == to || !source || !target)
    return {std::nullopt, "not known", from == to ? "own" : "?"};
  if (auto limit = topology_limit(topology_of(header, *from), *source, *target))
    return *limit;
  int links = std::min(source->nvlinks.value_or(0), target->nvlinks.value_or(0));
  auto link = nvlink_gb_per_s(*source);
  if (links == 0 || !link)
    return {std::nullopt, "the path between the GPUs is unknown", "?"};
  return {links * *link, fmt::format("{} NVLinks x {:g} GB/s", links, *link),
          fmt::format("NV{}", links)};
}

} // namespace ncclprobe::analysis
