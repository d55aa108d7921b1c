// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/cpu_list.h"

#include "base/number_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace ncclprobe::launch {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

} // namespace

std::vector<int> cpus_near(const std::string& bus_id, const std::filesystem::path& sysfs) {
  // sysfs has four digits for the domain and small letters.
  std::size_t colon = bus_id.find(':');
  if (colon == std::string::npos || colon < 4)
    return {};
  std::string name = bus_id.substr(colon - 4);
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  std::filesystem::path device = sysfs / "bus/pci/devices" / name;
  std::string node = first_line(device / "numa_node");
  if (node.empty() || node.front() == '-') // -1: the firmware does not report it
    return {};
  return base::parse_number_list(first_line(device / "local_cpulist"));
}

std::vector<int> core_of(int cpu, const std::filesystem::path& sysfs) {
  auto siblings = base::parse_number_list(first_line(
      sysfs / fmt::format("devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu)));
  return siblings.empty() ? std::vector<int>{cpu} : siblings;
}

} // namespace ncclprobe::launch
