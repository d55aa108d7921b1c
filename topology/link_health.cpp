// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/link_health.h"

#include "topology/gpu_board.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::topology {
namespace {

GpuMounting mounting_of(const NvLinkCount& gpu, bool has_nvswitches) {
  return gpu_mounting({gpu.gpu, gpu.pci_device_id, gpu.links, has_nvswitches || gpu.in_fabric});
}

// Cards may have fewer bridges than slots for them: then all have the same share of their links up.
bool partly_bridged(const std::vector<NvLinkCount>& gpus, bool has_nvswitches) {
  return std::ranges::all_of(gpus, [&](const NvLinkCount& gpu) {
    return gpu.up && gpu.up == gpus.front().up && gpu.links == gpus.front().links &&
           mounting_of(gpu, has_nvswitches).board != GpuBoard::module;
  });
}

// Why a GPU without active NVLinks may still be healthy; empty if it is not.
std::string excuse(const NvLinkCount& gpu, GpuBoard board, const NvLinkHealth& health,
                   std::ptrdiff_t gpus_without_mig) {
  if (gpu.mig)
    return "MIG is on, and its instances have no NVLink";
  if (board == GpuBoard::card)
    return "it is a PCIe card, and bridges between cards are optional";
  if (gpus_without_mig < 2)
    return "no other GPU is visible to which its links could lead";
  if (board == GpuBoard::unknown && !health.elsewhere)
    return "its model does not show whether they must be connected";
  return "";
}

} // namespace

std::string NvLinkHealth::text() const {
  std::string text =
      links > 0 ? fmt::format("{} of {} NVLinks are up", up, links) : "it reports no NVLink";
  if (elsewhere)
    text += fmt::format("; others on this host have {} up", *elsewhere);
  if (published && *published != links)
    text += fmt::format("; this model has {}", *published);
  if (!reason.empty())
    text += "; " + reason;
  return text;
}

std::vector<NvLinkHealth> nvlink_health(const std::vector<NvLinkCount>& gpus_of_host,
                                        bool has_nvswitches) {
  auto most_of_its_kind = [&](const NvLinkCount& gpu) {
    int most = 0;
    for (const NvLinkCount& other : gpus_of_host)
      if (other.gpu == gpu.gpu && other.pci_device_id == gpu.pci_device_id)
        most = std::max(most, other.up.value_or(0));
    return most;
  };
  auto without_mig = std::ranges::count(gpus_of_host, false, &NvLinkCount::mig);
  std::vector<NvLinkHealth> all;
  for (const NvLinkCount& gpu : gpus_of_host) {
    NvLinkHealth& one = all.emplace_back();
    if (!gpu.up || !gpu.links)
      continue;
    one.up = *gpu.up;
    one.links = *gpu.links;
    GpuMounting mounting = mounting_of(gpu, has_nvswitches);
    if (mounting.published_links && one.up < *mounting.published_links)
      one.published = mounting.published_links;
    if (int most = most_of_its_kind(gpu); one.up < most)
      one.elsewhere = most;
    if (one.up == 0 && (one.links > 0 || one.published || one.elsewhere)) {
      one.reason = excuse(gpu, mounting.board, one, without_mig);
      one.state = one.reason.empty() ? NvLinkState::down : NvLinkState::undecided;
      continue;
    }
    bool some_down = one.up < one.links;
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
