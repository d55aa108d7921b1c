// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cpu_list.h"

#include "launch/affinity.h"
#include "model/outcome.h"

#include <algorithm>
#include <cctype>
#include <charconv>
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

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (at != end) {
    int first = 0;
    auto [after, error] = std::from_chars(at, end, first);
    int last = first;
    if (error == std::errc{} && after != end && *after == '-') {
      auto range = std::from_chars(after + 1, end, last);
      after = range.ptr;
      error = range.ec;
    }
    bool at_comma = after != end && *after == ',';
    if (error != std::errc{} || first < 0 || last < first || last >= k_most_cpus ||
        (after != end && !at_comma))
      return {};
    for (int cpu = first; cpu <= last; ++cpu)
      cpus.push_back(cpu);
    at = at_comma ? after + 1 : after;
  }
  return cpus;
}

std::vector<int> cpus_near(const std::string& bus_id, const std::filesystem::path& sysfs) {
  // sysfs has four digits for the domain and small letters.
  std::size_t colon = bus_id.find(':');
  if (colon == std::string::npos || colon < 4)
    return {};
  std::string name = bus_id.substr(colon - 4);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  std::filesystem::path device = sysfs / "bus/pci/devices" / name;
  std::string node = first_line(device / "numa_node");
  if (node.empty() || node.front() == '-') // -1: the firmware does not say
    return {};
  return parse_cpu_list(first_line(device / "local_cpulist"));
}

std::string allowed_cpus(pid_t pid) {
  return model::format_ranks(affinity_of(pid));
}

} // namespace ncclprobe::launch
