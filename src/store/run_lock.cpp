// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_lock.h"

#include "base/atomic_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::Error;
using base::fail;

// "process 1234 on node7", also the content of the lock file.
std::string own_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0)
    host = {'?'};
  return fmt::format("process {} on {}", ::getpid(), host.data());
}

} // namespace

base::Result<RunLock> RunLock::take(const std::filesystem::path& parts) {
  auto path = parts / k_lock_name;
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file)
    return fail(Errc::io, "cannot open {}: {}", path.string(), std::strerror(errno));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    int number = errno;
    if (number != EWOULDBLOCK)
      return fail(Error{Errc::io,
                        fmt::format("cannot lock {}: {}", path.string(), std::strerror(number)),
                        "the file system may have no locks: choose an --output on another one"});
    auto holder = base::read_file(path);
    if (holder && *holder == own_name())
      return RunLock(base::Fd());
    return fail(Error{Errc::unavailable,
                      fmt::format("{} is being written by {}", parts.string(),
                                  holder && !holder->empty() ? *holder : "another process"),
                      "wait until it has ended"});
  }
  std::string name = own_name();
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), name.data(), name.size(), 0) < 0)
    return fail(Errc::io, "cannot write {}: {}", path.string(), std::strerror(errno));
  return RunLock(std::move(file));
}

} // namespace ncclprobe::store
