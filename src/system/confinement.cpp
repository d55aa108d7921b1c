// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/confinement.h"

#include "base/text_files.h"

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

namespace ncclprobe::system {

using namespace base;
namespace {

namespace fs = std::filesystem;

// Larger than any machine: v1 writes "no limit" this way.
constexpr std::uint64_t k_no_limit = std::uint64_t{1} << 60;

// The group of this process in a hierarchy: "0::/a/b" (v2), "5:memory:/a/b" (v1).
std::string group_of(const fs::path& root, std::string_view controller) {
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    std::size_t first = line.find(':');
    std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controller.empty() ? names == ",,"
                           : names.find("," + std::string(controller) + ",") != std::string::npos)
      return line.substr(second + 1);
  }
  return "/";
}

// This folder and all above it up to `top`. Inside a container the path in /proc may not exist:
// then only `top` is used.
std::vector<fs::path> folders_up(const fs::path& top, const std::string& group) {
  std::vector<fs::path> folders;
  fs::path relative = fs::path(group).relative_path().lexically_normal();
  while (!relative.empty() && relative != "." && *relative.begin() != "..") {
    std::error_code error;
    if (fs::is_directory(top / relative, error))
      folders.push_back(top / relative);
    relative = relative.parent_path();
  }
  folders.push_back(top);
  return folders;
}

template <typename T>
void tighten(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit))
    limit = other;
}

std::optional<std::uint64_t> bytes_in(const fs::path& file) {
  auto value = number_of<std::uint64_t>(text_of(file));
  return value && *value < k_no_limit ? value : std::nullopt;
}

void read_v2(const fs::path& root, model::Confinement& into) {
  std::vector<fs::path> folders = folders_up(root / "sys/fs/cgroup", group_of(root, ""));
  for (const fs::path& folder : folders) {
    tighten(into.memory_limit_bytes, bytes_in(folder / "memory.max"));
    tighten(into.pids_limit, bytes_in(folder / "pids.max"));
    std::vector<std::string> quota = words_of(text_of(folder / "cpu.max")); // "200000 100000"
    auto period = quota.size() == 2 ? number_of<std::int64_t>(quota[1]) : std::nullopt;
    auto time = quota.size() == 2 ? number_of<std::int64_t>(quota[0]) : std::nullopt;
    if (time && period && *period > 0)
      tighten(into.cpus, std::optional(static_cast<double>(*time) / static_cast<double>(*period)));
  }
  into.memory_used_bytes = bytes_in(folders.front() / "memory.current");
  into.pids_used = bytes_in(folders.front() / "pids.current");
}

void read_v1(const fs::path& root, model::Confinement& into) {
  fs::path top = root / "sys/fs/cgroup";
  std::vector<fs::path> memory = folders_up(top / "memory", group_of(root, "memory"));
  for (const fs::path& folder : memory)
    tighten(into.memory_limit_bytes, bytes_in(folder / "memory.limit_in_bytes"));
  into.memory_used_bytes = bytes_in(memory.front() / "memory.usage_in_bytes");
  std::vector<fs::path> pids = folders_up(top / "pids", group_of(root, "pids"));
  for (const fs::path& folder : pids)
    tighten(into.pids_limit, bytes_in(folder / "pids.max"));
  into.pids_used = bytes_in(pids.front() / "pids.current");
  for (const fs::path& folder : folders_up(top / "cpu", group_of(root, "cpu"))) {
    auto time = number_of<std::int64_t>(text_of(folder / "cpu.cfs_quota_us"));
    auto period = number_of<std::int64_t>(text_of(folder / "cpu.cfs_period_us"));
    if (time && period && *time > 0 && *period > 0)
      tighten(into.cpus, std::optional(static_cast<double>(*time) / static_cast<double>(*period)));
  }
}

std::string sign_of_container(const fs::path& root) {
  std::error_code error;
  for (const char* mark : {".dockerenv", "run/.containerenv", ".singularity.d"})
    if (fs::exists(root / mark, error))
      return "/" + std::string(mark);
  std::string group = text_of(root / "proc/1/cgroup");
  for (const char* word : {"docker", "kubepods", "containerd", "libpod", "lxc"})
    if (group.find(word) != std::string::npos)
      return std::string("'") + word + "' in /proc/1/cgroup";
  return "";
}

} // namespace

model::Confinement confinement(const fs::path& root) {
  model::Confinement found;
  found.container = sign_of_container(root);
  std::error_code error;
  if (fs::exists(root / "sys/fs/cgroup/memory", error))
    read_v1(root, found);
  else
    read_v2(root, found);
  return found;
}

std::optional<bool> numa_calls_allowed() {
  int mode = 0;
  if (::syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) == 0)
    return true;
  if (errno == EPERM)
    return false;
  return std::nullopt; // a kernel without NUMA
}

} // namespace ncclprobe::system
