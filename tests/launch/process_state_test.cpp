// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/process_state.h"
#include "support/catch.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace ncclprobe;

TEST_CASE("a stopped process is seen as one, with its threads by name") {
  pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED); // until it is stopped

  launch::ProcessState state = launch::look_at_process(child);

  CHECK(state.state == "T");
  CHECK_THAT(state.threads, ContainsSubstring("test_supervise (T)"));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
}

TEST_CASE("a process that is gone has no state") {
  CHECK(launch::look_at_process(0x3FFFFFFF).state.empty());
}
