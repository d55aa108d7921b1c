// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/links.h"

#include "knowledge/gpu_models.h"
#include "topology/paths.h"
#include "topology/pci_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ncclprobe::topology {

namespace {

std::optional<double> nominal_by_version(const Fact<std::string>& version) {
  if (!version)
    return std::nullopt;
  std::string generation = version->substr(0, version->find('.'));
  for (const knowledge::NvlinkGeneration& one : knowledge::nvlink_generations())
    if (one.generation == generation)
      return one.link_gb_per_s;
  return std::nullopt;
}

std::optional<double> nominal_by_capability(const Fact<std::string>& capability) {
  if (!capability)
    return std::nullopt;
  auto parsed = knowledge::parse_compute_capability(*capability);
  return parsed ? knowledge::nvlink_gb_per_s(*parsed) : std::nullopt;
}

// If neither link nor GPU gives the generation: drivers report up to 6.3% more than a link carries
// (26.562 for 25, 53.125 for 50).
std::optional<double> nominal_by_signal(const Fact<double>& gb_per_s) {
  constexpr double k_most_coding = 1.07;
  if (!gb_per_s)
    return std::nullopt;
  for (const knowledge::NvlinkGeneration& one : knowledge::nvlink_generations())
    if (one.link_gb_per_s && *gb_per_s >= *one.link_gb_per_s &&
        *gb_per_s <= k_most_coding * *one.link_gb_per_s)
      return one.link_gb_per_s;
  return std::nullopt;
}

template <typename T>
std::optional<T> lesser(std::optional<T> a, std::optional<T> b) {
  if (!a || !b)
    return a ? a : b;
  return std::min(*a, *b);
}

template <typename T>
std::optional<T> first_of(const Fact<T>& a, const Fact<T>& b) {
  return a ? a.value : b.value;
}

// The rate of the slowest link between two GPUs.
std::optional<double> nvlink_rate(const Gpu& a, const Gpu& b) {
  std::optional<double> rate;
  for (const auto& [gpu, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!gpu->nvlinks)
      continue;
    for (const NvLink& link : *gpu->nvlinks)
      if (link.active.value_or(true) &&
          (link.remote.value == RemoteKind::nvswitch ||
           (other->bus_id && link.remote_bus_id.value == other->bus_id.value)))
        rate = lesser(rate, nvlink_gb_per_s(*gpu, link));
  }
  if (rate)
    return rate;
  // A matrix counts links without describing them: use the data of the GPUs' models.
  return lesser(nominal_by_capability(a.compute_capability),
                nominal_by_capability(b.compute_capability));
}

std::string number(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text;
}

// The narrowest PCIe link on the paths from `devices` up to below `common`.
Ceiling over_pcie(const Host& host, const std::vector<int>& devices, int common) {
  Ceiling narrowest;
  narrowest.derivation = "no PCIe link on the path is known";
  int unknown_links = 0;
  for (int device : devices) {
    if (device < 0)
      ++unknown_links;
    for (int position : way_up(host, device)) {
      if (position == common)
        break;
      PcieRate rate = pcie_rate(host, static_cast<std::size_t>(position));
      auto generation = rate.gt_per_s ? pcie_generation(*rate.gt_per_s) : std::nullopt;
      auto gb_per_s = generation && rate.width ? knowledge::pcie_gb_per_s(*generation, *rate.width)
                                               : std::nullopt;
      if (!gb_per_s)
        ++unknown_links;
      if (!gb_per_s || (narrowest.gb_per_s && *narrowest.gb_per_s <= *gb_per_s))
        continue;
      narrowest.gb_per_s = gb_per_s;
      narrowest.derivation =
          fmt::format("PCIe gen {} x{} at {}", *generation, *rate.width, host.pci[position].bus_id);
    }
  }
  if (narrowest.gb_per_s && unknown_links > 0)
    narrowest.derivation += fmt::format("; {} more on the way unknown", unknown_links);
  return narrowest;
}

// A GPU outside any PCI tree still knows its own link.
Ceiling of_own_link(const Gpu& gpu) {
  auto generation = lesser(gpu.pcie.generation_gpu_max.value, gpu.pcie.generation_slot_max.value);
  if (!generation)
    generation = gpu.pcie.generation_now.value;
  auto width = gpu.pcie.width_now
                   ? gpu.pcie.width_now.value
                   : lesser(gpu.pcie.width_gpu_max.value, gpu.pcie.width_slot_max.value);
  if (!generation || !width)
    return {std::nullopt, "its PCIe link is unknown"};
  return {knowledge::pcie_gb_per_s(*generation, *width),
          fmt::format("PCIe gen {} x{}", *generation, *width)};
}

Ceiling narrower(Ceiling a, Ceiling b) {
  if (!b.gb_per_s || (a.gb_per_s && *a.gb_per_s <= *b.gb_per_s))
    return a;
  return b;
}

} // namespace

std::optional<double> pcie_gt_per_s(int generation) {
  for (const knowledge::PcieGeneration& one : knowledge::pcie_generations())
    if (one.generation == generation)
      return one.gt_per_s;
  return std::nullopt;
}

std::optional<int> pcie_generation(double gt_per_s) {
  for (const knowledge::PcieGeneration& one : knowledge::pcie_generations())
    if (std::abs(one.gt_per_s - gt_per_s) < 0.01)
      return one.generation;
  return std::nullopt;
}

PcieRate pcie_rate(const Host& host, std::size_t device) {
  const PciDevice& pci = host.pci[device];
  PcieRate rate{first_of(pci.gt_per_s_max, pci.gt_per_s), first_of(pci.width, pci.width_max)};
  for (const Gpu& gpu : host.gpus) {
    if (gpu.bus_id.value != pci.bus_id)
      continue;
    auto generation = lesser(gpu.pcie.generation_gpu_max.value, gpu.pcie.generation_slot_max.value);
    if (!generation && !rate.gt_per_s)
      generation = gpu.pcie.generation_now.value;
    if (generation)
      rate.gt_per_s = lesser(rate.gt_per_s, pcie_gt_per_s(*generation));
    if (gpu.pcie.width_now)
      rate.width = gpu.pcie.width_now.value;
    else if (!rate.width)
      rate.width = lesser(gpu.pcie.width_gpu_max.value, gpu.pcie.width_slot_max.value);
  }
  return rate;
}

std::optional<double> nvlink_gb_per_s(const Gpu& gpu, const NvLink& link) {
  auto nominal =
      lesser(nominal_by_version(link.version), nominal_by_capability(gpu.compute_capability));
  if (!nominal)
    nominal = nominal_by_signal(link.gb_per_s);
  return lesser(link.gb_per_s.value, nominal);
}

Ceiling ceiling(const Host& host, int gpu_a, int gpu_b) {
  const Gpu* a = host.gpu(gpu_a);
  const Gpu* b = host.gpu(gpu_b);
  if (!a || !b)
    return {std::nullopt, "no such GPU"};
  if (gpu_a == gpu_b)
    return {std::nullopt, "no link: the GPU's own memory"};
  FoundPath found = path_between(host, {DeviceKind::gpu, gpu_a}, {DeviceKind::gpu, gpu_b});
  if (found.path.type == PathType::nvlink) {
    auto rate = nvlink_rate(*a, *b);
    if (!rate)
      return {std::nullopt, fmt::format("{} NVLinks of unknown rate", found.path.nvlinks)};
    return {found.path.nvlinks * *rate,
            fmt::format("{} NVLinks x {} GB/s", found.path.nvlinks, number(*rate))};
  }
  if (nvlinks_untold(*a, *b, found)) // there may be a faster path
    return {std::nullopt, "NVLinks between them are unknown"};
  int pci_a = pci_position(host, a->bus_id);
  int pci_b = pci_position(host, b->bus_id);
  if (pci_a < 0 || pci_b < 0)
    return narrower(of_own_link(*a), of_own_link(*b));
  return over_pcie(host, {pci_a, pci_b}, lowest_common_ancestor(host, pci_a, pci_b).common);
}

Ceiling host_ceiling(const Host& host, int gpu) {
  const Gpu* one = host.gpu(gpu);
  if (!one)
    return {std::nullopt, "no such GPU"};
  int pci = pci_position(host, one->bus_id);
  return pci < 0 ? of_own_link(*one) : over_pcie(host, {pci}, -1);
}

} // namespace ncclprobe::topology
