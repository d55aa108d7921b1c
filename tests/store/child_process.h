// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace ncclprobe::support {

inline void say(int descriptor, char word) {
  if (::write(descriptor, &word, 1) != 1)
    ::_exit(3);
}

// A forked process that runs `body` and ends; it can send single characters.
class ChildProcess {
public:
  explicit ChildProcess(const std::function<void(int)>& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      for (int signal : {SIGSEGV, SIGABRT, SIGTERM, SIGINT})
        ::signal(signal, SIG_DFL);
      body(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    from_child_ = ends[0];
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    kill();
    ::close(from_child_);
  }

  pid_t pid() const { return pid_; }
  // The next character; 0 when the child has ended and all is read.
  char hear() const {
    char word = 0;
    return ::read(from_child_, &word, 1) == 1 ? word : '\0';
  }
  // Ends it with SIGKILL, unless it has ended, and returns its wait status.
  int kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status_, 0);
      pid_ = -1;
    }
    return status_;
  }

private:
  pid_t pid_ = -1;
  int from_child_ = -1;
  int status_ = 0;
};

} // namespace ncclprobe::support
