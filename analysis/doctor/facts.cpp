// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/facts.h"

#include <algorithm>
#include <cctype>

namespace ncclprobe::analysis::doctor {
namespace {

// Without the domain's leading zeros and in small letters.
std::string plain(const std::string& pci) {
  std::string text;
  for (char letter : pci)
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  return text;
}

} // namespace

std::string driver_version(const model::Survey& survey) {
  const model::Library* driver = survey.inventory.library("cuda_driver");
  if (driver == nullptr || driver->version.starts_with("CUDA"))
    return "";
  return driver->version.substr(0, driver->version.find(' '));
}

std::string driver_cuda_version(const model::Survey& survey) {
  const model::Library* driver = survey.inventory.library("cuda_driver");
  std::size_t at = driver == nullptr ? std::string::npos : driver->version.find("CUDA ");
  if (at == std::string::npos)
    return "";
  std::string text = driver->version.substr(at + 5);
  return text.substr(0, text.find(')'));
}

std::string gpu_label(const model::GpuHealth& gpu) {
  return gpu.pci_bus_id.empty() ? fmt::format("GPU {}", gpu.index)
                                : fmt::format("GPU {} ({})", gpu.index, gpu.pci_bus_id);
}

void name_fewer(const std::vector<int>& group, std::vector<int>& named) {
  if (named.empty() || group.size() < named.size())
    named = group;
  else if (group.size() == named.size())
    named.insert(named.end(), group.begin(), group.end());
}

bool same_pci(const std::string& one, const std::string& other) {
  return plain(one) == plain(other);
}

} // namespace ncclprobe::analysis::doctor
