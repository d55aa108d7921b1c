// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/guarded_read.h"

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/fd.h"
#include "store/image.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::Error;
using base::Result;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool k_limit_memory = false; // its shadow memory is larger than any limit
#else
constexpr bool k_limit_memory = true;
#endif

// What the child says about a file, before the texts themselves.
struct Verdict {
  std::uint32_t is_error = 0;
  Errc code = Errc::failed;
  std::uint32_t message_bytes = 0;
  std::uint32_t hint_bytes = 0;
};

Result<Tables> read_here(const FileToRead& file) {
  NCCLPROBE_TRY_ASSIGN(std::string image, base::read_file(file.path));
  try {
    return read_image(image, file.path.string(), file.kind);
  } catch (const base::Exception& error) {
    return base::fail(error.error());
  } catch (const std::exception& error) {
    return base::fail(Errc::protocol, "{} is damaged: {}", file.path.string(), error.what());
  }
}

std::uint64_t size_of(const FileToRead& file) {
  std::error_code ignored; // a missing file is found out by reading it
  auto size = std::filesystem::file_size(file.path, ignored);
  return ignored ? 0 : size;
}

std::int64_t cpu_limit_s(const ReadLimits& limits, std::uint64_t bytes) {
  return limits.cpu_s + limits.cpu_s_per_mib * static_cast<std::int64_t>(bytes >> 20);
}

// --- in the child ---

std::uint64_t address_space_bytes() {
  auto text = base::read_file("/proc/self/statm"); // first number: size in pages
  return text ? std::strtoull(text->c_str(), nullptr, 10) *
                    static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))
              : 0;
}

std::int64_t cpu_used_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1;
}

void set_limit(decltype(RLIMIT_AS) which, std::uint64_t value) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0)
    return;
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  ::setrlimit(which, &limit);
}

void leave_parents_world() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal :
       {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGTERM, SIGINT, SIGHUP, SIGPIPE})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // glibc announces heap damage on stderr; the parent says it better.
  if (int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) {
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
  }
  set_limit(RLIMIT_CORE, 0);
}

void write_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = ::write(fd, at, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      ::_exit(1);
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

[[noreturn]] void run_child(int pipe, const std::vector<FileToRead>& files, std::size_t first,
                            const ReadLimits& limits) {
  leave_parents_world();
  std::uint64_t own_bytes = address_space_bytes();
  for (std::size_t i = first; i < files.size(); ++i) {
    std::uint64_t bytes = size_of(files[i]);
    if (k_limit_memory)
      set_limit(RLIMIT_AS, own_bytes + limits.memory_bytes + limits.memory_per_byte * bytes);
    set_limit(RLIMIT_CPU, static_cast<std::uint64_t>(cpu_used_s() + cpu_limit_s(limits, bytes)));
    Verdict verdict;
    Error error;
    if (auto result = read_here(files[i]); !result) {
      error = result.error();
      verdict = {1, error.code, static_cast<std::uint32_t>(error.message.size()),
                 static_cast<std::uint32_t>(error.hint.size())};
    }
    write_all(pipe, &verdict, sizeof verdict);
    write_all(pipe, error.message.data(), error.message.size());
    write_all(pipe, error.hint.data(), error.hint.size());
  }
  ::_exit(0);
}

// --- in the parent ---

// Reads exactly `size` bytes. False: the child closed its end or the deadline passed.
bool read_all(int fd, void* data, std::size_t size, const base::Deadline& deadline) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    pollfd wait{fd, POLLIN, 0};
    int ready = ::poll(&wait, 1, deadline.left_ms(1000));
    if (ready < 0 && errno != EINTR)
      return false;
    if (ready <= 0) {
      if (deadline.expired())
        return false;
      continue;
    }
    ssize_t count = ::read(fd, at, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

// The child's verdict on one file; nullopt if there will be none.
std::optional<Result<void>> receive(int fd, const base::Deadline& deadline) {
  Verdict verdict;
  if (!read_all(fd, &verdict, sizeof verdict, deadline))
    return std::nullopt;
  if (!verdict.is_error)
    return Result<void>();
  Error error{verdict.code, std::string(verdict.message_bytes, ' '),
              std::string(verdict.hint_bytes, ' ')};
  if (!read_all(fd, error.message.data(), error.message.size(), deadline) ||
      !read_all(fd, error.hint.data(), error.hint.size(), deadline))
    return std::nullopt;
  return base::fail(std::move(error));
}

// Ends the child and says what became of it.
std::string end_child(pid_t child, bool too_late) {
  if (too_late)
    ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR)
      continue;
    status = 0; // someone else reaped it
    break;
  }
  if (too_late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
    return "did not finish in time";
  if (WIFSIGNALED(status))
    return fmt::format("died of signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return "ended unexpectedly";
}

// Verdicts on files from `first` on, until all are judged or the child is gone.
void judge(const std::vector<FileToRead>& files, const ReadLimits& limits,
           std::vector<Result<void>>& verdicts) {
  std::size_t first = verdicts.size();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    base::raise(Errc::io, "cannot make a pipe: {}", std::strerror(errno));
  base::Fd read_end(ends[0]);
  base::Fd write_end(ends[1]);
  pid_t child = ::fork();
  if (child < 0)
    base::raise(Errc::io, "cannot start a process to read {}: {}", files[first].path.string(),
                std::strerror(errno));
  if (child == 0)
    run_child(write_end.get(), files, first, limits);
  write_end.close();
  bool too_late = false;
  while (verdicts.size() < files.size()) {
    const FileToRead& file = files[verdicts.size()];
    auto wall = std::chrono::seconds(limits.wall_factor * cpu_limit_s(limits, size_of(file)));
    auto deadline = base::Deadline::after(wall);
    auto verdict = receive(read_end.get(), deadline);
    if (!verdict) {
      too_late = deadline.expired();
      break;
    }
    verdicts.push_back(std::move(*verdict));
  }
  std::string end = end_child(child, too_late);
  if (verdicts.size() < files.size())
    verdicts.push_back(base::fail(Errc::protocol,
                                  "{} is damaged: a process that tried to read it {}",
                                  files[verdicts.size()].path.string(), end));
}

} // namespace

std::vector<Result<Tables>> read_guarded(const std::vector<FileToRead>& files,
                                         const ReadLimits& limits) {
  std::vector<Result<void>> verdicts;
  while (verdicts.size() < files.size())
    judge(files, limits, verdicts);
  std::vector<Result<Tables>> results;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (verdicts[i])
      results.push_back(read_here(files[i]));
    else
      results.push_back(base::fail(std::move(verdicts[i].error())));
  }
  return results;
}

} // namespace ncclprobe::store
