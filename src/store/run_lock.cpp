// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_lock.h"

#include "base/atomic_file.h"
#include "base/log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ncclprobe::store {
namespace {

std::string host_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0)
    host = {'?'};
  return host.data();
}

// "process 1234 on node7", also the content of the lock file.
std::string name_of(int pid) {
  return fmt::format("process {} on {}", pid, host_name());
}

// When a process of this host started, in the kernel's ticks; empty if there is none. Distinguishes
// a process from a later one with the same number.
std::string start_of(int pid) {
  std::string stat = base::read_file(fmt::format("/proc/{}/stat", pid)).value_or("");
  std::size_t at = stat.rfind(')'); // the program's name may contain parentheses; state is field 3
  for (int field = 3; field <= 22 && at != std::string::npos; ++field)
    at = stat.find(' ', at + 1);
  return at == std::string::npos ? "" : stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// True if it names a process of this host that has ended. Content of an owner file: name, line
// feed, start.
bool is_stale(const std::string& owner) {
  int pid = 0;
  if (std::sscanf(owner.c_str(), "process %d on", &pid) != 1 || first_line(owner) != name_of(pid))
    return false;
  return owner != name_of(pid) + "\n" + start_of(pid);
}

// The content of a lock or owner file. Others may have written it, so it can be anything.
std::string content_of(const base::Fd& file) {
  std::array<char, 512> text{}; // our names are shorter
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// True if it is a regular file with one name, not a link.
bool is_plain(const base::Fd& file) {
  struct stat about {};
  return ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink <= 1;
}

bool has_no_locks(int number) {
  return number == ENOLCK || number == EOPNOTSUPP || number == ENOSYS;
}

tl::unexpected<Error> held(const std::filesystem::path& parts, const std::string& holder,
                           std::string hint) {
  return fail(Error{Errc::unavailable,
                    fmt::format("{} is being written by {}", parts.string(),
                                holder.empty() ? "another process" : holder),
                    std::move(hint)});
}

// A process that folded meanwhile has removed the file that we opened. A lock on that file excludes
// nobody.
bool is_at(const base::Fd& file, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat there {};
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

} // namespace

RunLock::RunLock(RunLock&& other) noexcept
    : file_(std::move(other.file_)), owner_file_(std::exchange(other.owner_file_, std::nullopt)) {}

RunLock::~RunLock() {
  std::error_code ignored;
  if (owner_file_)
    std::filesystem::remove(*owner_file_, ignored);
}

void RunLock::keep_until_exit() {
  file_.release();
  owner_file_.reset();
}

Result<RunLock> RunLock::take_by_file(const std::filesystem::path& parts) {
  const auto path = parts / k_owner_name;
  const std::string own = name_of(::getpid()) + "\n" + start_of(::getpid());
  constexpr int k_tries = 3;
  for (int tries = 0; tries < k_tries; ++tries) {
    base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file) {
      RunLock lock;
      lock.owner_file_ = path;
      if (::write(file.get(), own.data(), own.size()) != static_cast<ssize_t>(own.size()))
        return fail(Errc::io, "cannot write {}: {}", path.string(), std::strerror(errno));
      spdlog::warn(
          "{} is on a file system without locks: {} serves as the lock; start no second run "
          "on this file from another host",
          parts.string(), path.string());
      return lock;
    }
    if (errno != EEXIST)
      return fail(Errc::io, "cannot create {}: {}", path.string(), std::strerror(errno));
    const std::string owner =
        content_of(base::Fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)));
    if (owner == own)
      return RunLock();
    if (!is_stale(owner))
      return held(parts, first_line(owner),
                  fmt::format("wait until it has ended; if it was killed, remove {}: on this file "
                              "system, locks do not end with their process",
                              path.string()));
    ::unlink(path.c_str());
  }
  return held(parts, "", "wait until it has ended");
}

Result<RunLock> RunLock::take(const std::filesystem::path& parts, LockCall lock_call) {
  auto path = parts / k_lock_name;
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  if ((!file && errno == ELOOP) || (file && !is_plain(file)))
    return fail(Error{Errc::io, fmt::format("{} is not a file of ncclprobe's", path.string()),
                      "something else is in its place: remove it"});
  if (!file)
    return fail(Errc::io, "cannot open {}: {}", path.string(), std::strerror(errno));
  if (lock_call(file.get(), LOCK_EX | LOCK_NB) != 0) {
    int number = errno;
    if (has_no_locks(number))
      return take_by_file(parts);
    if (number != EWOULDBLOCK)
      return fail(Error{Errc::io,
                        fmt::format("cannot lock {}: {}", path.string(), std::strerror(number)),
                        "choose an --output on another file system"});
    const std::string holder = content_of(file);
    if (holder == name_of(::getpid()))
      return RunLock();
    return held(parts, holder, "wait until it has ended");
  }
  if (!is_at(file, path))
    return take(parts, lock_call);
  std::string name = name_of(::getpid());
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), name.data(), name.size(), 0) < 0)
    return fail(Errc::io, "cannot write {}: {}", path.string(), std::strerror(errno));
  RunLock lock;
  lock.file_ = std::move(file);
  return lock;
}

} // namespace ncclprobe::store
