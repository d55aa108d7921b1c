// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/shared_memory_sweep.h"

#include "base/clock.h"
#include "base/log.h"
#include "launch/supervisor/process_state.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace ncclprobe::launch {
namespace {

namespace fs = std::filesystem;

// Time limit for all processes that may be stuck together.
constexpr std::chrono::milliseconds k_patience{200};

bool is_number(const std::string& name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char letter) { return letter >= '0' && letter <= '9'; });
}

// Files under `folder`/nccl-* that a process has mapped or open. Nothing if that may not be read.
// Do not call it for a process that is stuck in the kernel: the call could block with it.
std::optional<std::set<std::string>> used_by(const fs::path& process, const fs::path& folder) {
  std::set<std::string> used;
  std::string start = (folder / "nccl-").string();
  errno = 0;
  std::ifstream maps(process / "maps");
  if (!maps && errno == EACCES)
    return std::nullopt;
  for (std::string line; std::getline(maps, line);)
    if (std::size_t at = line.find(start); at != std::string::npos)
      used.insert(line.substr(at, line.find(' ', at) - at));
  std::error_code error;
  for (fs::directory_iterator fd(process / "fd", error), end; !error && fd != end;
       fd.increment(error)) {
    std::error_code gone;
    std::string target = fs::read_symlink(fd->path(), gone).string();
    if (target.starts_with(start))
      used.insert(target);
  }
  if (error == std::errc::permission_denied)
    return std::nullopt;
  return used;
}

// A process that waits for a disk, or for the child of a vfork(), is briefly in that state too, and
// a busy machine always has such processes. It is stuck only if it stays in the same wait.
bool stays_stuck(pid_t pid, const base::Deadline& patience) {
  constexpr timespec k_pause{0, 1'000'000};
  std::vector<KernelWait> waits = kernel_waits(pid);
  while (!waits.empty()) {
    if (patience.expired())
      return true;
    ::nanosleep(&k_pause, nullptr);
    const std::vector<KernelWait> now = kernel_waits(pid);
    std::erase_if(waits,
                  [&](const KernelWait& one) { return std::ranges::find(now, one) == now.end(); });
  }
  return false;
}

struct Use {
  std::set<std::string> used;
  bool by_all_seen = true; // all processes of this user could be examined
  bool by_stuck = false;   // possibly in use: a process of this user is stuck in the kernel
};

Use used_by_anybody(const fs::path& folder) {
  Use all;
  const base::Deadline patience = base::Deadline::after(k_patience);
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat status {};
    if (!is_number(entry->path().filename()) || ::stat(entry->path().c_str(), &status) != 0 ||
        status.st_uid != ::geteuid())
      continue;
    if (stays_stuck(std::stoi(entry->path().filename()), patience)) {
      all.by_stuck = true;
      continue;
    }
    auto used = used_by(entry->path(), folder);
    if (used)
      all.used.merge(*used);
    else if (entry->path().filename() != "1") // a container's init may not be readable
      all.by_all_seen = false;
  }
  return all;
}

} // namespace

void SharedMemorySweep::note(pid_t worker) {
  if (is_stuck_in_kernel(worker))
    return;
  if (auto used = used_by(fs::path("/proc") / std::to_string(worker), folder_))
    known_.merge(*used);
}

void SharedMemorySweep::look(std::int64_t since_s) {
  remove_unused();
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat status {};
    if (entry->path().filename().string().starts_with("nccl-") &&
        ::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == ::geteuid() && status.st_ctim.tv_sec >= since_s)
      suspect_.insert(entry->path());
  }
}

void SharedMemorySweep::last_look() {
  remove_unused();
}

void SharedMemorySweep::remove_unused() {
  if (known_.empty() && suspect_.empty())
    return;
  Use now = used_by_anybody(folder_);
  if (now.by_stuck) // it may use any of these files: the next look decides
    return;
  std::set<std::string> candidates;
  candidates.merge(known_); // their other users are our workers, which we can see
  if (now.by_all_seen)
    candidates.merge(suspect_);
  suspect_.clear();
  known_.clear();
  for (const std::string& path : candidates) {
    struct stat status {};
    if (now.used.contains(path) || ::lstat(path.c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
      continue;
    if (::unlink(path.c_str()) == 0)
      spdlog::debug("removed {}, which a worker left", path);
  }
}

} // namespace ncclprobe::launch
