// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/fd.h"

#include <filesystem>
#include <optional>
#include <sys/file.h>

// Who may change a run's parts. The lock is flock(2) on a file in the parts folder: it ends with
// the process that took it, however that ends, and other hosts see it on file systems that have
// locks. Where there are none (some NFS mounts), a file that only one process can create stands for
// it. That is weaker: it outlives a process that was killed. One of this host is then found to be
// gone; of one of another host nobody can tell, so it is refused with what to do. And of two
// processes that find a dead one's file in the same instant both may go on.
namespace ncclprobe::store {

class RunLock {
public:
  using LockCall = int (*)(int fd, int operation);

  // Takes the lock, or shares it if this process holds it already. Errors: unavailable (names the
  // process that holds it), io. `lock` is for tests.
  static base::Result<RunLock> take(const std::filesystem::path& parts, LockCall lock = ::flock);

  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  // Keeps it until the process ends: it is to outlive the call that began the run, and the run is
  // over when the process is. One descriptor stays open for it, on purpose.
  void keep_until_exit();

private:
  static base::Result<RunLock> take_by_file(const std::filesystem::path& parts);

  RunLock() = default; // this process held the lock before
  base::Fd file_;
  std::optional<std::filesystem::path> owner_file_; // to be removed
};

inline constexpr const char* k_lock_name = "lock";
inline constexpr const char* k_owner_name = "owner"; // where there are no locks

} // namespace ncclprobe::store
