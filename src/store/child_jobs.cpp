// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/child_jobs.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/resource_limits.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ncclprobe::store {
namespace {

using std::chrono::milliseconds;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool k_limit_memory = false; // its shadow memory is larger than any limit
#else
constexpr bool k_limit_memory = true;
#endif
constexpr std::uint64_t k_most_bytes = 1ULL << 30; // most bytes of a child's answer

// The head of a child's answer about a job; the texts and the result follow.
struct Verdict {
  std::uint32_t is_error = 0;
  Errc code = Errc::failed;
  std::uint32_t message_bytes = 0;
  std::uint32_t hint_bytes = 0;
  std::uint64_t result_bytes = 0;
};

Result<std::string> run_job(const ChildJob& job, const Progress& progress) {
  try {
    return job.run(progress);
  } catch (const Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::protocol, "cannot {} {}: {}", job.verb, job.path.string(), error.what());
  }
}

// --- in the child ---

// Never raises the user's own limit.
void limit_memory(std::uint64_t bytes, const rlimit& of_user) {
  rlimit limit = of_user;
  limit.rlim_cur = std::min<rlim_t>(bytes, of_user.rlim_cur);
  ::setrlimit(RLIMIT_AS, &limit);
}

milliseconds cpu_used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto of = [](const timeval& time) {
    return milliseconds(time.tv_sec * 1000 + time.tv_usec / 1000);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// Ends this process with SIGPROF after this much more processor time.
void allow_cpu(milliseconds time) {
  itimerval timer{};
  timer.it_value = {time.count() / 1000, time.count() % 1000 * 1000};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

// Enforces the job's time limits while it lives.
class CpuGuard {
public:
  explicit CpuGuard(const ChildLimits& limits) : limits_(limits), ends_(cpu_used() + limits.cpu) {
    on_progress();
  }
  CpuGuard(const CpuGuard&) = delete;
  CpuGuard& operator=(const CpuGuard&) = delete;
  ~CpuGuard() { allow_cpu(milliseconds(0)); }

  // Checks the time itself too: a timer that is set anew every millisecond never fires, because the
  // kernel rounds it up.
  void on_progress() const {
    if (limits_.cpu == milliseconds(0))
      return;
    const milliseconds left = ends_ - cpu_used();
    if (left <= milliseconds(0))
      ::raise(SIGPROF);
    allow_cpu(std::min(left, limits_.stall));
  }

private:
  const ChildLimits& limits_;
  milliseconds ends_;
};

void leave_parents_world(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) // the parent died before this child could be notified
    ::_exit(1);
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF, SIGPIPE})
    ::signal(signal, SIG_DFL);
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
    ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // glibc prints heap damage to stderr; the parent reports it better.
  if (int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) {
    ::dup2(null, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

void write_or_leave(int fd, std::string_view bytes) {
  if (base::write_all(fd, bytes) != 0)
    ::_exit(1);
}

[[noreturn]] void run_child(int pipe, const std::vector<ChildJob>& jobs, std::size_t first,
                            pid_t parent) {
  leave_parents_world(parent);
  const std::uint64_t own_bytes = base::address_space_bytes();
  rlimit of_user{};
  ::getrlimit(RLIMIT_AS, &of_user);
  for (std::size_t i = first; i < jobs.size(); ++i) {
    const ChildLimits& limits = jobs[i].limits;
    if (k_limit_memory)
      limit_memory(limits.memory_bytes > 0 ? own_bytes + limits.memory_bytes : RLIM_INFINITY,
                   of_user);
    Verdict verdict;
    Error error;
    std::string bytes;
    {
      const CpuGuard guard(limits);
      auto result = run_job(jobs[i], [&] { guard.on_progress(); });
      if (result) {
        bytes = std::move(*result);
        verdict.result_bytes = bytes.size();
      } else {
        error = result.error();
        verdict = {1, error.code, static_cast<std::uint32_t>(error.message.size()),
                   static_cast<std::uint32_t>(error.hint.size()), 0};
      }
    }
    write_or_leave(pipe, {reinterpret_cast<const char*>(&verdict), sizeof verdict});
    write_or_leave(pipe, error.message);
    write_or_leave(pipe, error.hint);
    write_or_leave(pipe, bytes);
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

// The child's answer about one job; nullopt if none will come.
std::optional<Result<std::string>> receive(int fd, const base::Deadline& deadline,
                                           const std::function<void()>& meanwhile) {
  Verdict verdict;
  if (!read_all(fd, &verdict, sizeof verdict, deadline, meanwhile))
    return std::nullopt;
  // A damaged child may send anything.
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
  if (!verdict.is_error)
    return bytes;
  if (error.code == Errc::protocol && error.hint.empty())
    error.hint = base::memory_limit(); // too little memory looks like damage
  return fail(std::move(error));
}

// How a child ended that gave no answer, also in words.
struct ChildEnd {
  enum class How { crashed, too_late, killed } how = How::crashed;
  std::string words;
};

ChildEnd end_child(pid_t child, bool too_late) {
  if (too_late)
    ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR)
      continue;
    status = 0; // someone else reaped it
    break;
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (too_late || signal == SIGPROF)
    return {ChildEnd::How::too_late, "did not finish in time"};
  if (signal == 0)
    return {ChildEnd::How::crashed, "ended unexpectedly"};
  constexpr std::array k_crashes{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  return {std::ranges::find(k_crashes, signal) != k_crashes.end() ? ChildEnd::How::crashed
                                                                  : ChildEnd::How::killed,
          fmt::format("died of signal {} ({})", signal, ::strsignal(signal))};
}

Error no_verdict(const ChildJob& job, const ChildEnd& end) {
  const std::string path = job.path.string();
  if (end.how == ChildEnd::How::killed)
    return {Errc::unavailable,
            fmt::format("cannot {} {}: the process that tried to {}", job.verb, path, end.words),
            "somebody killed it, or the kernel did, for lack of memory: try again"};
  if (job.verb != std::string_view("read"))
    return {Errc::failed,
            fmt::format("{} could not be made: a process that tried to {} it {}", path, job.verb,
                        end.words),
            ""};
  return {end.how == ChildEnd::How::too_late ? Errc::timed_out : Errc::protocol,
          fmt::format("{} is damaged: a process that tried to read it {}", path, end.words),
          base::memory_limit()};
}

Error no_child(const ChildJob& job, int number) {
  return {Errc::unavailable,
          fmt::format("cannot start a process to {} {}: {}", job.verb, job.path.string(),
                      std::strerror(number)),
          number == EAGAIN ? base::process_limit() : ""};
}

// Gets results of jobs, from the first job without one, until all have one or the child is gone.
void run_rest(const std::vector<ChildJob>& jobs, std::vector<Result<std::string>>& results) {
  const std::size_t first = results.size();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    results.push_back(fail(no_child(jobs[first], errno)));
    return;
  }
  base::Fd read_end(ends[0]);
  base::Fd write_end(ends[1]);
  const pid_t parent = ::getpid();
  pid_t child = ::fork();
  if (child < 0) {
    results.push_back(fail(no_child(jobs[first], errno)));
    return;
  }
  if (child == 0)
    run_child(write_end.get(), jobs, first, parent);
  write_end.close();
  bool too_late = false;
  while (results.size() < jobs.size()) {
    const ChildLimits& limits = jobs[results.size()].limits;
    auto deadline =
        limits.cpu > milliseconds(0) ? base::Deadline::after(limits.wall) : base::Deadline::never();
    auto result = receive(read_end.get(), deadline, jobs[results.size()].meanwhile);
    if (!result) {
      too_late = deadline.expired();
      break;
    }
    results.push_back(std::move(*result));
  }
  const ChildEnd end = end_child(child, too_late);
  if (results.size() < jobs.size())
    results.push_back(fail(no_verdict(jobs[results.size()], end)));
}

} // namespace

std::vector<Result<std::string>> run_in_child(const std::vector<ChildJob>& jobs) {
  std::vector<Result<std::string>> results;
  while (results.size() < jobs.size())
    run_rest(jobs, results);
  return results;
}

} // namespace ncclprobe::store
