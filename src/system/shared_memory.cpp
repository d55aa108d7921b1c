// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/shared_memory.h"

#include "base/fd.h"
#include "base/text_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace ncclprobe::system {

using namespace base;
namespace {

bool is_of_communication(std::string_view name) {
  constexpr std::array k_prefixes{"nccl-",    "cuda.shm.",  "cuda_shm", "vader_segment",
                                  "psm2_shm", "sm_segment", "ucx_shm",  "ncclprobe"};
  return std::ranges::any_of(k_prefixes,
                             [&](const char* prefix) { return name.starts_with(prefix); });
}

// Creates and closes a file, as NCCL and MPI do. The file has no name if the file system supports
// that, so nobody finds it. Returns the system's error if it cannot be created.
std::string why_not_writable(const std::filesystem::path& folder) {
  if (base::Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)); file)
    return "";
  if (errno == EOPNOTSUPP || errno == EISDIR) {
    std::string name = (folder / "ncclprobe-XXXXXX").string();
    if (base::Fd file(::mkostemp(name.data(), O_CLOEXEC)); file) {
      ::unlink(name.c_str());
      return "";
    }
  }
  return std::strerror(errno);
}

} // namespace

std::optional<model::SharedMemory> shared_memory(const std::filesystem::path& folder) {
  struct statvfs system {};
  if (::statvfs(folder.c_str(), &system) != 0)
    return std::nullopt;
  model::SharedMemory found;
  found.size_bytes = static_cast<std::uint64_t>(system.f_blocks) * system.f_frsize;
  found.free_bytes = static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
  found.problem = why_not_writable(folder);
  std::int64_t now_s = std::time(nullptr);
  for (const std::string& name : names_in(folder)) {
    struct stat status {};
    if (!is_of_communication(name) || ::lstat((folder / name).c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    found.segments.push_back({name, static_cast<std::uint64_t>(status.st_size),
                              std::max<std::int64_t>(0, now_s - status.st_mtim.tv_sec),
                              status.st_uid});
  }
  return found;
}

} // namespace ncclprobe::system
