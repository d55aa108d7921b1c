// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/fd.h"
#include "launch/supervisor/affinity.h"
#include "launch/supervisor/output_ring.h"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ncclprobe::launch {

struct ProcessCommand {
  std::filesystem::path program;
  std::vector<std::string> arguments;   // after argv[0]
  std::vector<std::string> environment; // complete, "NAME=value"
  Affinity affinity = Affinity::inherited;
  std::vector<int> preferred_cpus; // of the allowed ones; empty: all
};

struct ExitStatus {
  enum class How { exited, signalled } how = How::exited;
  int value = 0;                       // exit code or signal number
  std::uint64_t peak_memory_bytes = 0; // of its largest process: most RAM it held; 0: unknown
  bool clean() const { return how == How::exited && value == 0; }
  std::string text() const; // "exit 0", "signal 9 (Killed)"
};

// A child process that leads its own process group, so that its whole family can be signalled. It
// gets /dev/null as descriptor 0, a captured 1 and 2, `channel` as 3, and nothing else; default
// signal handlers and an empty signal mask.
//
// Spawn from a thread that lives as long as the children may: they ask the kernel to be killed when
// the thread that spawned them ends (PR_SET_PDEATHSIG, which only the child itself can set).
class Process {
public:
  // Errors: not_found, unavailable, with the system's words.
  static Result<Process> spawn(const ProcessCommand& command, base::Fd channel);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  // Kills the group if it is not gone yet, and does not wait for it.
  ~Process();

  pid_t pid() const { return pid_; }
  int output_fd() const { return output_.get(); } // -1 after end of file
  int exit_fd() const { return pidfd_.get(); }    // readable once it has ended; -1 on old kernels

  // Reads what it has written so far; a bounded amount, so that a flood of output cannot block the
  // caller.
  void read_output();
  // Its last words (OutputRing::tail), without the secrets in its environment.
  std::string output_tail(std::size_t size) const;

  // How the process ended, if it has. It stays a zombie until the group is gone, so that its id,
  // and with it the group's, cannot be anyone else's.
  std::optional<ExitStatus> poll_exit();
  // Signals the whole group; does nothing once it is gone.
  void signal_group(int signal);
  // After the process has ended: kills the rest of its group and reaps it. True once nothing is
  // left; otherwise call again soon.
  bool clear_group();

private:
  Process(pid_t pid, base::Fd output, base::Fd pidfd, std::vector<std::string> secrets);

  pid_t pid_;
  base::Fd output_;
  base::Fd pidfd_;
  OutputRing ring_;
  std::vector<std::string> secrets_;
  std::optional<ExitStatus> exit_;
  bool reaped_ = false;
  bool gone_ = false;
};

// Makes orphans of our children our children (PR_SET_CHILD_SUBREAPER), so that clear_group() can
// see them end. Affects the whole process; call it before the first spawn.
void adopt_orphans();

} // namespace ncclprobe::launch
