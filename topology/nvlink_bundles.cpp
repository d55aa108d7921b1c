// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/nvlink_bundles.h"

#include "knowledge/gpu_models.h"
#include "topology/links.h"
#include "topology/paths.h"

#include <algorithm>
#include <map>

namespace ncclprobe::topology {

namespace {

std::optional<NvlinkBundle> bundle_to_switches(const Gpu& gpu) {
  NvlinkBundle bundle{gpu.index, std::nullopt, 0, std::nullopt};
  if (gpu.nvlinks)
    for (const NvLink& link : *gpu.nvlinks) {
      if (!link.active.value_or(true) || link.remote.value != RemoteKind::nvswitch)
        continue;
      ++bundle.links;
      if (auto rate = nvlink_gb_per_s(gpu, link))
        bundle.gb_per_s = bundle.gb_per_s.value_or(0) + *rate;
    }
  return bundle.links > 0 ? std::optional(bundle) : std::nullopt;
}

// Between GPUs, from links or a stated path. Pairs in order.
std::vector<NvlinkBundle> bundles_between_gpus(const Host& host) {
  std::vector<NvlinkBundle> bundles;
  for (const Gpu& gpu : host.gpus)
    for (const Gpu& other : host.gpus) {
      if (other.index <= gpu.index)
        continue;
      Path path =
          path_between(host, {DeviceKind::gpu, gpu.index}, {DeviceKind::gpu, other.index}).path;
      if (path.type == PathType::nvlink)
        bundles.push_back(
            {gpu.index, other.index, path.nvlinks, ceiling(host, gpu.index, other.index).gb_per_s});
    }
  return bundles;
}

// A matrix shows no NVSwitch. But if a GPU's paths to its peers add up to more links than any GPU
// has, they must lead through one. Returns the GPU's links, by GPU, in that case; otherwise
// nothing.
std::map<int, int> links_to_concluded_switches(const std::vector<NvlinkBundle>& bundles) {
  int most_links = 0;
  for (const knowledge::NvlinkGeneration& one : knowledge::nvlink_generations())
    most_links = std::max(most_links, one.links_most.value_or(0));
  std::map<int, int> sum;
  std::map<int, int> most;
  for (const NvlinkBundle& bundle : bundles)
    for (int gpu : {bundle.gpu, *bundle.peer}) {
      sum[gpu] += bundle.links;
      most[gpu] = std::max(most[gpu], bundle.links);
    }
  bool beyond = std::ranges::any_of(sum, [&](const auto& one) { return one.second > most_links; });
  return beyond ? most : std::map<int, int>{};
}

} // namespace

std::vector<NvlinkBundle> nvlink_bundles(const Host& host) {
  std::vector<NvlinkBundle> bundles;
  for (const Gpu& gpu : host.gpus)
    if (auto bundle = bundle_to_switches(gpu))
      bundles.push_back(*bundle);
  std::vector<NvlinkBundle> between = bundles_between_gpus(host);
  if (bundles.empty())
    for (const auto& [gpu, links] : links_to_concluded_switches(between))
      bundles.push_back({gpu, std::nullopt, links, std::nullopt});
  auto behind_switch = [&](int gpu) {
    return std::ranges::any_of(
        bundles, [&](const NvlinkBundle& one) { return !one.peer && one.gpu == gpu; });
  };
  std::erase_if(between, [&](const NvlinkBundle& one) {
    return behind_switch(one.gpu) && behind_switch(*one.peer);
  });
  bundles.insert(bundles.end(), between.begin(), between.end());
  return bundles;
}

} // namespace ncclprobe::topology
