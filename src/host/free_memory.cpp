// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/free_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

namespace ncclprobe::host {
namespace {

// The number after `name` on the line that starts with it.
std::optional<std::uint64_t> find_number(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t number = 0;
  std::string rest;
  while (file >> word >> number) {
    if (word == name)
      return number;
    std::getline(file, rest);
  }
  return std::nullopt;
}

// Nothing if the file does not exist or says "max".
std::optional<std::uint64_t> only_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number)
    return number;
  return std::nullopt;
}

} // namespace

std::uint64_t free_memory_bytes(const MemoryFiles& files) {
  std::uint64_t free = std::numeric_limits<std::uint64_t>::max();
  if (auto kibibytes = find_number(files.meminfo, "MemAvailable:"))
    free = *kibibytes * 1024;
  auto limit = only_number(files.cgroup + "/memory.max");
  auto used = only_number(files.cgroup + "/memory.current");
  if (!limit || !used)
    return free;
  // Cached files count as used, but the kernel drops them before it kills a process.
  for (const char* cache : {"inactive_file", "active_file"})
    *used -= std::min(*used, find_number(files.cgroup + "/memory.stat", cache).value_or(0));
  return std::min(free, *limit - std::min(*limit, *used));
}

} // namespace ncclprobe::host
