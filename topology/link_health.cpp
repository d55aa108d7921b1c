// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/link_health.h"

#include "knowledge/gpu_models.h"

#include <algorithm>

namespace ncclprobe::topology {
namespace {

// By what is published of this model, whatever of several a name can mean; unknown models are not.
bool on_nvswitch_board(const std::string& gpu_name) {
  auto models = knowledge::find_gpu_models(gpu_name);
  return !models.empty() && std::ranges::all_of(models, [](const knowledge::GpuModel* model) {
    return model->nvlink && model->nvlink->via.find("NVSwitch") != std::string::npos;
  });
}

// Links that every GPU of this model has in use: those on an NVSwitch board. A card for bridges
// may have none.
std::optional<int> links_of_model(const std::string& name) {
  std::optional<int> links;
  if (!on_nvswitch_board(name))
    return std::nullopt;
  for (const knowledge::GpuModel* model : knowledge::find_gpu_models(name)) {
    if (!model->nvlink->links || (links && *links != *model->nvlink->links))
      return std::nullopt;
    links = model->nvlink->links;
  }
  return links;
}

// Cards can be joined by fewer bridges than they have room for: then all have the same share of
// their links up, and no switch is there that would need the rest.
bool partly_bridged(const std::vector<NvLinkCount>& gpus, bool has_nvswitches) {
  return !has_nvswitches && std::ranges::all_of(gpus, [&](const NvLinkCount& gpu) {
    return gpu.up && gpu.up == gpus.front().up && gpu.links == gpus.front().links &&
           !on_nvswitch_board(gpu.gpu);
  });
}

} // namespace

std::vector<NvLinkHealth> nvlink_health(const std::vector<NvLinkCount>& gpus_of_host,
                                        bool has_nvswitches) {
  int most = 0;
  for (const NvLinkCount& gpu : gpus_of_host)
    most = std::max(most, gpu.up.value_or(0));
  std::vector<NvLinkHealth> all;
  for (const NvLinkCount& gpu : gpus_of_host) {
    NvLinkHealth& one = all.emplace_back();
    if (!gpu.up || !gpu.links)
      continue;
    one.up = *gpu.up;
    one.links = *gpu.links;
    std::optional<int> published = links_of_model(gpu.gpu);
    if (published && one.up < *published && (one.up > 0 || gpus_of_host.size() > 1))
      one.published = published;
    if (one.up < most)
      one.elsewhere = most;
    bool some_down = one.up > 0 && one.up < one.links;
    one.state = !some_down && !one.published && !one.elsewhere ? NvLinkState::as_expected
                : partly_bridged(gpus_of_host, has_nvswitches) ? NvLinkState::bridged
                                                               : NvLinkState::down;
  }
  return all;
}

PcieState pcie_state(const PcieSpeed& speed, Load load) {
  if (speed.width && speed.best_width && *speed.width < *speed.best_width)
    return PcieState::narrow;
  if (speed.generation && speed.best_generation && *speed.generation < *speed.best_generation)
    return load == Load::busy ? PcieState::slow : PcieState::idle;
  return PcieState::as_expected;
}

} // namespace ncclprobe::topology
