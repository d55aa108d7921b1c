// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/fd.h"

#include <filesystem>

// Who may change a run's parts. The lock is flock(2) on a file in the parts folder: it ends with
// the process that took it, however that ends, and other hosts see it on file systems that have
// locks.
namespace ncclprobe::store {

class RunLock {
public:
  // Takes the lock, or shares it if this process holds it already. Errors: unavailable (names the
  // process that holds it), io.
  static base::Result<RunLock> take(const std::filesystem::path& parts);

  // Keeps it until the process ends: it is to outlive the call that began the run, and the run is
  // over when the process is. One descriptor stays open for it, on purpose.
  void keep_until_exit() { file_.release(); }

private:
  explicit RunLock(base::Fd file) : file_(std::move(file)) {}
  base::Fd file_; // empty if this process held the lock before
};

inline constexpr const char* k_lock_name = "lock";

} // namespace ncclprobe::store
