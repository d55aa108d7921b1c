// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "launch/supervisor/process_state.h"
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

TEST_CASE("a process is stuck in the kernel while one of its threads is, and only then") {
  CHECK(!launch::is_stuck_in_kernel(::getpid()));
  pid_t parent = ::fork();
  if (parent == 0) {
    ::setpgid(0, 0);
    if (::vfork() == 0) // the parent waits in state D
      for (;;)
        ::pause();
    ::_exit(0);
  }
  base::Deadline patience = base::Deadline::after(std::chrono::seconds(10));
  bool stuck = false;
  while (!stuck && !patience.expired())
    stuck = launch::is_stuck_in_kernel(parent);
  std::vector<launch::KernelWait> waits = launch::kernel_waits(parent);
  timespec pause{0, 5'000'000};
  ::nanosleep(&pause, nullptr);
  std::vector<launch::KernelWait> later = launch::kernel_waits(parent);
  ::kill(-parent, SIGKILL);
  int status = 0;
  ::waitpid(parent, &status, 0);

  CHECK(stuck);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].thread == parent);
  CHECK(waits[0].waits != "");
  CHECK(later == waits); // still the same wait
}

TEST_CASE("a process that is gone has no state") {
  CHECK(launch::look_at_process(0x3FFFFFFF).state.empty());
}
