// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "stacks/process_stacks.h"

#include "base/process_start.h"
#include "support/catch.h"

#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ncclprobe;

namespace {

// Stays here until its end of the pipe is closed. Not static: its name must be in the program.
extern "C" [[gnu::noinline]] void stacks_test_stands_here(int read_end) {
  char byte = 0;
  while (::read(read_end, &byte, 1) < 0) {
  }
  asm volatile("" ::: "memory"); // no tail call
}

struct StandingChild {
  StandingChild() {
    int ends[2];
    int ready[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::pipe(ready) == 0);
    process = ::fork();
    REQUIRE(process >= 0);
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[1]);
      std::thread([&] {
        ::prctl(PR_SET_NAME, "helper");
        (void)!::write(ready[1], "", 1);
        stacks_test_stands_here(ends[0]);
      }).detach();
      stacks_test_stands_here(ends[0]);
      ::_exit(0);
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1); // the helper has its name
    for (const int end : {ends[0], ready[0], ready[1]})
      ::close(end);
    pipe = ends[1];
  }
  ~StandingChild() {
    ::close(pipe);
    ::waitpid(process, nullptr, 0);
  }
  pid_t process = 0;
  int pipe = -1;
};

bool stands(const stacks::ThreadStack& thread) {
  for (const std::string& frame : thread.frames)
    if (frame.starts_with("stacks_test_stands_here ("))
      return true;
  return false;
}

} // namespace

TEST_CASE("the stacks of another process name its functions, the main thread first") {
  const StandingChild child;
  std::vector<stacks::ThreadStack> seen;
  // A thread may still be on its way.
  for (int look = 0; look < 1000 && !(seen.size() == 2 && stands(seen[0]) && stands(seen[1]));
       ++look) {
    auto taken = stacks::stacks_of(child.process);
    REQUIRE(taken);
    seen = *taken;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].thread == child.process);
  CHECK(stands(seen[0]));
  CHECK(stands(seen[1]));
  CHECK(seen[1].name == "helper");
  CHECK(seen[0].frames.size() > 1);
  CHECK(::kill(child.process, 0) == 0); // it goes on
}

TEST_CASE("a process that has ended has no stacks") {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(0);
  REQUIRE(child > 0);
  ::waitpid(child, nullptr, 0);
  const auto seen = stacks::stacks_of(child);
  REQUIRE(!seen);
  CHECK(seen.error().code == base::Errc::not_found);
}
