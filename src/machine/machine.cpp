// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/machine.h"

#include <algorithm>

namespace ncclprobe::topology {

namespace {

template <typename T>
const T* with_index(const std::vector<T>& all, int index) {
  auto found = std::ranges::find(all, index, &T::index);
  return found == all.end() ? nullptr : &*found;
}

// Text is `digits` hexadecimal digits in lower case.
bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

} // namespace

const Gpu* Host::gpu(int index) const {
  return with_index(gpus, index);
}

const Gpu* Host::gpu_at(std::string_view bus_id) const {
  const auto normal = normal_bus_id(bus_id);
  auto found = std::ranges::find_if(
      gpus, [&](const Gpu& gpu) { return normal && gpu.bus_id.value == normal; });
  return found == gpus.end() ? nullptr : &*found;
}

const Nic* Host::nic(int index) const {
  return with_index(nics, index);
}

const NumaNode* Host::numa_node(int index) const {
  return with_index(numa, index);
}

const PciDevice* Host::pci_device(std::string_view bus_id) const {
  auto found = std::ranges::find(pci, bus_id, &PciDevice::bus_id);
  return found == pci.end() ? nullptr : &*found;
}

std::optional<std::string> normal_bus_id(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  std::size_t colon = lower.find(':');
  if (colon == std::string::npos || colon > 8)
    return std::nullopt;
  std::string domain = lower.substr(0, colon);
  std::string rest = lower.substr(colon + 1);
  bool well_formed = is_hex(domain) && rest.size() == 7 && is_hex(rest.substr(0, 2)) &&
                     rest[2] == ':' && is_hex(rest.substr(3, 2)) && rest[5] == '.' &&
                     is_hex(rest.substr(6));
  if (!well_formed)
    return std::nullopt;
  domain.erase(0, std::min(domain.find_first_not_of('0'), domain.size()));
  if (domain.size() < 4)
    domain.insert(0, 4 - domain.size(), '0');
  return domain + ":" + rest;
}

PciKind kind_of_pci_class(std::uint32_t pci_class) {
  switch (pci_class >> 8) {
  case 0x0604:
    return PciKind::bridge;
  case 0x0300: // VGA
  case 0x0302: // 3D controller
    return PciKind::gpu;
  case 0x0680:
    return PciKind::nvswitch;
  case 0x0200: // Ethernet
  case 0x0207: // InfiniBand
  case 0x0280: // other network, as some adapters of clouds
    return PciKind::nic;
  default:
    return PciKind::other;
  }
}

} // namespace ncclprobe::topology
