// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/process.h"

#include "base/secrets.h"
#include "wire/message.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

constexpr std::size_t k_ring_bytes = 64 * 1024;

// Frees attributes and file actions on every way out.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

// Duplicates it above the descriptors that the child's set-up overwrites. Otherwise a supervisor
// that was started with closed standard streams would pass on descriptors that clobber each other.
base::Fd above_the_standard_ones(const base::Fd& fd) {
  return base::Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, wire::k_channel_fd + 1));
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings)
    result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

} // namespace

std::string ExitStatus::text() const {
  if (how == How::exited)
    return fmt::format("exit {}", value);
  const char* name = sigdescr_np(value);
  return fmt::format("signal {} ({})", value, name == nullptr ? "unknown" : name);
}

Process::Process(pid_t pid, base::Fd output, base::Fd pidfd, std::vector<std::string> secrets)
    : pid_(pid), output_(std::move(output)), pidfd_(std::move(pidfd)), ring_(k_ring_bytes),
      secrets_(std::move(secrets)) {}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_), output_(std::move(other.output_)), pidfd_(std::move(other.pidfd_)),
      ring_(std::move(other.ring_)), secrets_(std::move(other.secrets_)), exit_(other.exit_),
      reaped_(other.reaped_), gone_(std::exchange(other.gone_, true)) {}

Process::~Process() {
  if (gone_)
    return;
  signal_group(SIGKILL);
  if (!reaped_)
    ::waitpid(pid_, nullptr, WNOHANG);
}

Result<Process> Process::spawn(const ProcessCommand& command, base::Fd channel) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Errc::unavailable, "cannot make a pipe: {}", std::strerror(errno));
  base::Fd output(ends[0]);
  base::Fd low_output_end(ends[1]);
  ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
  base::Fd output_end = above_the_standard_ones(low_output_end);
  base::Fd channel_end = above_the_standard_ones(channel);
  if (!output_end || !channel_end)
    return fail(Errc::unavailable, "no free descriptor: {}", std::strerror(errno));

  SpawnPlan plan;
  posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, output_end.get(), 1);
  posix_spawn_file_actions_adddup2(&plan.actions, output_end.get(), 2);
  posix_spawn_file_actions_adddup2(&plan.actions, channel_end.get(), wire::k_channel_fd);
  // MPI libraries leave sockets without close-on-exec.
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, wire::k_channel_fd + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setflags(&plan.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments{command.program.string()};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = command.environment;
  pid_t pid = -1;
  AffinityScope affinity(command.affinity, command.preferred_cpus);
  int error = posix_spawn(&pid, command.program.c_str(), &plan.actions, &plan.attributes,
                          pointers(arguments).data(), pointers(environment).data());
  if (error != 0)
    return fail(error == ENOENT ? Errc::not_found : Errc::unavailable, "cannot start {}: {}",
                command.program.string(), std::strerror(error));
  // Only reports the end faster. On kernels without it (before 5.3) poll_exit() is enough.
  base::Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return Process(pid, std::move(output), std::move(pidfd), base::secrets_of(environment));
}

void Process::read_output() {
  std::array<char, 65536> chunk;
  constexpr int k_chunks_per_turn = 16;
  for (int i = 0; i < k_chunks_per_turn && output_; ++i) {
    ssize_t size = ::read(output_.get(), chunk.data(), chunk.size());
    if (size > 0)
      ring_.append({chunk.data(), static_cast<std::size_t>(size)});
    else if (size == 0)
      output_.close();
    else if (errno != EINTR)
      return;
  }
}

std::string Process::output_tail(std::size_t size) const {
  return base::without_secrets(ring_.tail(size), secrets_);
}

std::optional<ExitStatus> Process::poll_exit() {
  if (exit_)
    return exit_;
  siginfo_t info{};
  rusage used{};
  // The C library's waitid() does not return what the process used.
  if (::syscall(SYS_waitid, P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT, &used) != 0 ||
      info.si_pid != pid_)
    return std::nullopt;
  exit_ =
      ExitStatus{info.si_code == CLD_EXITED ? ExitStatus::How::exited : ExitStatus::How::signalled,
                 info.si_status, static_cast<std::uint64_t>(used.ru_maxrss) * 1024};
  pidfd_.close(); // otherwise it would stay readable
  return exit_;
}

void Process::signal_group(int signal) {
  if (!gone_)
    ::kill(-pid_, signal);
}

bool Process::clear_group() {
  if (gone_)
    return true;
  if (!reaped_) {
    // Before the group's leader is reaped, because after that the group's id might be reused.
    ::kill(-pid_, SIGKILL);
    reaped_ = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
  }
  // Its orphans are our children now (adopt_orphans). While one is left, the group's id is taken.
  while (true) {
    pid_t orphan = ::waitpid(-pid_, nullptr, WNOHANG);
    if (orphan > 0)
      continue;
    if (orphan < 0 && errno == EINTR)
      continue;
    gone_ = reaped_ && orphan < 0; // ECHILD: nobody left
    if (!gone_)
      ::kill(-pid_, SIGKILL);
    return gone_;
  }
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

} // namespace ncclprobe::launch
