// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/fd.h"

#include <filesystem>
#include <optional>
#include <sys/file.h>

// Decides who may change a run's parts. The lock is flock(2) on a file in the parts folder. It ends
// with the process that took it, however that ends, and other hosts see it on file systems that
// have locks. Without locks (some NFS mounts), a file that only one process can create takes its
// place. That is weaker, because it outlives a process that was killed. If the process was on this
// host, we can see that it is gone. On another host nobody can know, so the lock is refused, with
// advice. And if two processes find a dead one's file in the same instant, both may continue.
namespace ncclprobe::store {

class RunLock {
public:
  using LockCall = int (*)(int fd, int operation);

  // Takes the lock, or shares it if this process holds it already. Errors: unavailable (names the
  // process that holds it), io. `lock` is for tests.
  static Result<RunLock> take(const std::filesystem::path& parts, LockCall lock = ::flock);

  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  // Keeps the lock until the process ends, because it must outlive the call that began the run. One
  // descriptor deliberately stays open.
  void keep_until_exit();

private:
  static Result<RunLock> take_by_file(const std::filesystem::path& parts);

  RunLock() = default; // if this process already held the lock
  base::Fd file_;
  std::optional<std::filesystem::path> owner_file_; // to be removed
};

inline constexpr const char* k_lock_name = "lock";
inline constexpr const char* k_owner_name = "owner"; // for file systems without locks

} // namespace ncclprobe::store
