// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/pci.h"

#include "base/text_files.h"

#include <fstream>

namespace ncclprobe::system {

using namespace base;
namespace {

// PCI Express Base Specification: extended capabilities begin at 0x100, each with its id (16 bits),
// version (4) and the offset of the next (12).
constexpr std::size_t k_extended_space = 0x100;
constexpr std::uint32_t k_access_control = 0x000D;
constexpr std::size_t k_access_control_register = 6;
constexpr std::uint32_t k_request_redirect = 1U << 2;
constexpr std::uint32_t k_completion_redirect = 1U << 3;
constexpr std::string_view k_bridge_class = "0x0604";
constexpr std::string_view k_network_class = "0x02"; // Ethernet, InfiniBand
constexpr std::string_view k_display_class = "0x03"; // and 3D controllers
constexpr std::string_view k_nvidia = "0x10de";

std::uint32_t number_at(std::string_view space, std::size_t offset, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint32_t>(
                 static_cast<unsigned char>(space[offset + static_cast<std::size_t>(i)]))
             << (8 * i);
  return value;
}

bool is_gpu_or_nic(const std::filesystem::path& device) {
  std::string kind = text_of(device / "class");
  return kind.starts_with(k_network_class) ||
         (kind.starts_with(k_display_class) && text_of(device / "vendor") == k_nvidia);
}

// Binary data: no byte may be removed.
std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(4096, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(file.gcount());
  return bytes;
}

// Groups of GPUs and network cards. They show the kernel's default too, which its command line does
// not.
std::vector<model::IommuGroup> device_groups(const std::filesystem::path& root) {
  std::vector<model::IommuGroup> found;
  std::filesystem::path folder = root / "sys/kernel/iommu_groups";
  for (const std::string& name : names_in(folder)) {
    model::IommuGroup group;
    for (const std::string& address : names_in(folder / name / "devices"))
      if (is_gpu_or_nic(root / "sys/bus/pci/devices" / address))
        group.devices.push_back(address);
    if (group.devices.empty())
      continue;
    group.type = text_of(folder / name / "type");
    found.push_back(std::move(group));
  }
  return found;
}

std::string iommu_words(const std::filesystem::path& root) {
  std::string found;
  for (const std::string& word : words_of(text_of(root / "proc/cmdline")))
    if (word.find("iommu") != std::string::npos || word.starts_with("pci=") ||
        word.find("disable_acs_redir") != std::string::npos)
      found += (found.empty() ? "" : " ") + word;
  return found;
}

std::string hypervisor(const std::filesystem::path& root) {
  std::string type = text_of(root / "sys/hypervisor/type"); // Xen
  if (!type.empty())
    return type;
  for (const std::string& line : lines_of(root / "proc/cpuinfo")) {
    if (!line.starts_with("flags"))
      continue;
    if ((line + " ").find(" hypervisor ") == std::string::npos)
      return "";
    std::string product = text_of(root / "sys/class/dmi/id/product_name");
    return product.empty() ? "a hypervisor (flag of the CPU)" : product;
  }
  return "";
}

} // namespace

std::optional<bool> redirects_peers(std::string_view space) {
  std::size_t at = k_extended_space;
  // A broken chain must not loop for ever: the space has room for a limited number of capabilities.
  for (int left = 960; left > 0 && at >= k_extended_space && at + 8 <= space.size(); --left) {
    std::uint32_t header = number_at(space, at, 4);
    if (header == UINT32_MAX) // the device did not answer
      break;
    if ((header & 0xFFFF) == k_access_control)
      return (number_at(space, at + k_access_control_register, 2) &
              (k_request_redirect | k_completion_redirect)) != 0;
    at = header >> 20;
    if (at == 0) // the last one, or there are none
      return false;
  }
  return std::nullopt;
}

model::PciSurvey pci_survey(const std::filesystem::path& root) {
  model::PciSurvey found;
  std::filesystem::path devices = root / "sys/bus/pci/devices";
  for (const std::string& address : names_in(devices))
    if (text_of(devices / address / "class").starts_with(k_bridge_class))
      found.bridges.push_back({address, redirects_peers(bytes_of(devices / address / "config"))});
  found.iommu_groups = static_cast<int>(names_in(root / "sys/kernel/iommu_groups").size());
  found.device_groups = device_groups(root);
  found.iommu_words = iommu_words(root);
  found.hypervisor = hypervisor(root);
  return found;
}

} // namespace ncclprobe::system
