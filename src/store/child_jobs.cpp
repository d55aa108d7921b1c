// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/child_jobs.h"

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/fd.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <string_view>
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
constexpr std::uint64_t k_most_bytes = 1ULL << 30; // of what a child says

// What the child says about a job, before the texts and the result themselves.
struct Verdict {
  std::uint32_t is_error = 0;
  Errc code = Errc::failed;
  std::uint32_t message_bytes = 0;
  std::uint32_t hint_bytes = 0;
  std::uint64_t result_bytes = 0;
};

Result<std::string> run_job(const ChildJob& job) {
  try {
    return job.run();
  } catch (const base::Exception& error) {
    return base::fail(error.error());
  } catch (const std::exception& error) {
    return base::fail(Errc::protocol, "cannot {} {}: {}", job.verb, job.path.string(),
                      error.what());
  }
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

[[noreturn]] void run_child(int pipe, const std::vector<ChildJob>& jobs, std::size_t first) {
  leave_parents_world();
  std::uint64_t own_bytes = address_space_bytes();
  for (std::size_t i = first; i < jobs.size(); ++i) {
    const ChildLimits& limits = jobs[i].limits;
    if (k_limit_memory)
      set_limit(RLIMIT_AS,
                limits.memory_bytes > 0 ? own_bytes + limits.memory_bytes : RLIM_INFINITY);
    set_limit(RLIMIT_CPU, limits.cpu_s > 0 ? static_cast<std::uint64_t>(cpu_used_s() + limits.cpu_s)
                                           : RLIM_INFINITY);
    Verdict verdict;
    Error error;
    std::string bytes;
    if (auto result = run_job(jobs[i])) {
      bytes = std::move(*result);
      verdict.result_bytes = bytes.size();
    } else {
      error = result.error();
      verdict = {1, error.code, static_cast<std::uint32_t>(error.message.size()),
                 static_cast<std::uint32_t>(error.hint.size()), 0};
    }
    write_all(pipe, &verdict, sizeof verdict);
    write_all(pipe, error.message.data(), error.message.size());
    write_all(pipe, error.hint.data(), error.hint.size());
    write_all(pipe, bytes.data(), bytes.size());
  }
  ::_exit(0);
}

// --- in the parent ---

// Reads exactly `size` bytes. False: the child closed its end or the deadline passed.
bool read_all(int fd, void* data, std::size_t size, const base::Deadline& deadline,
              const std::function<void()>& meanwhile = {}) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    pollfd wait{fd, POLLIN, 0};
    int ready = ::poll(&wait, 1, deadline.left_ms(1000));
    if (ready < 0 && errno != EINTR)
      return false;
    if (ready <= 0) {
      if (deadline.expired())
        return false;
      if (meanwhile)
        meanwhile();
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

// What the child says of one job; nullopt if it will say nothing.
std::optional<Result<std::string>> receive(int fd, const base::Deadline& deadline,
                                           const std::function<void()>& meanwhile) {
  Verdict verdict;
  if (!read_all(fd, &verdict, sizeof verdict, deadline, meanwhile))
    return std::nullopt;
  // A child that was damaged itself may say anything.
  if (verdict.message_bytes > k_most_bytes || verdict.hint_bytes > k_most_bytes ||
      verdict.result_bytes > k_most_bytes)
    return std::nullopt;
  Error error{verdict.code, std::string(verdict.message_bytes, ' '),
              std::string(verdict.hint_bytes, ' ')};
  std::string bytes(verdict.result_bytes, ' ');
  if (!read_all(fd, error.message.data(), error.message.size(), deadline) ||
      !read_all(fd, error.hint.data(), error.hint.size(), deadline) ||
      !read_all(fd, bytes.data(), bytes.size(), deadline))
    return std::nullopt;
  if (verdict.is_error)
    return base::fail(std::move(error));
  return bytes;
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

// Results of jobs from the first that has none on, until all have one or the child is gone.
void run_rest(const std::vector<ChildJob>& jobs, std::vector<Result<std::string>>& results) {
  std::size_t first = results.size();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    base::raise(Errc::io, "cannot make a pipe: {}", std::strerror(errno));
  base::Fd read_end(ends[0]);
  base::Fd write_end(ends[1]);
  pid_t child = ::fork();
  if (child < 0)
    base::raise(Errc::io, "cannot start a process to {} {}: {}", jobs[first].verb,
                jobs[first].path.string(), std::strerror(errno));
  if (child == 0)
    run_child(write_end.get(), jobs, first);
  write_end.close();
  bool too_late = false;
  while (results.size() < jobs.size()) {
    const ChildLimits& limits = jobs[results.size()].limits;
    auto deadline =
        limits.cpu_s > 0
            ? base::Deadline::after(std::chrono::seconds(limits.wall_factor * limits.cpu_s))
            : base::Deadline::never();
    auto result = receive(read_end.get(), deadline, jobs[results.size()].meanwhile);
    if (!result) {
      too_late = deadline.expired();
      break;
    }
    results.push_back(std::move(*result));
  }
  std::string end = end_child(child, too_late);
  if (results.size() < jobs.size()) {
    const ChildJob& job = jobs[results.size()];
    bool reading = job.verb == std::string_view("read");
    results.push_back(base::fail(reading ? Errc::protocol : Errc::failed,
                                 "{} {}: a process that tried to {} it {}", job.path.string(),
                                 reading ? "is damaged" : "could not be made", job.verb, end));
  }
}

} // namespace

std::vector<Result<std::string>> run_in_child(const std::vector<ChildJob>& jobs) {
  std::vector<Result<std::string>> results;
  while (results.size() < jobs.size())
    run_rest(jobs, results);
  return results;
}

} // namespace ncclprobe::store
