// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "processes.h"

#include "launch/supervisor/process.h"
#include "support/catch.h"
#include "wire/channel.h"

#include <csignal>
#include <fcntl.h>
#include <poll.h>

using namespace ncclprobe;
using launch::ExitStatus;
using launch::Process;

namespace {

struct Child {
  wire::Channel channel;
  Process process;
};

Child shell(const std::string& script, const std::string& token = "X=1") {
  auto ends = base::value_or_throw(wire::make_channel());
  auto process = Process::spawn({"/bin/sh", {"-c", script}, {token, "PATH=/usr/bin:/bin"}},
                                std::move(ends.second));
  return {std::move(ends.first), base::value_or_throw(std::move(process))};
}

ExitStatus wait_for_exit(Process& process) {
  while (true) {
    pollfd watched[] = {{process.output_fd(), POLLIN, 0}, {process.exit_fd(), POLLIN, 0}};
    ::poll(watched, 2, 10);
    process.read_output();
    if (auto status = process.poll_exit()) {
      process.read_output();
      return *status;
    }
  }
}

void clear(Process& process) {
  while (!process.clear_group())
    ::poll(nullptr, 0, 1);
}

} // namespace

TEST_CASE("exit codes and signals are told apart and named") {
  Child exiting = shell("exit 7");
  Child killed = shell("kill -KILL $$");

  CHECK(wait_for_exit(exiting.process).text() == "exit 7");
  CHECK(wait_for_exit(killed.process).text() == "signal 9 (Killed)");
  clear(exiting.process);
  clear(killed.process);
}

TEST_CASE("the peak memory of an ended process is known, however it ended") {
  constexpr std::uint64_t k_mib = 1 << 20;
  Child small = shell("exit 0");
  Child large = shell("x=$(head -c 33554432 /dev/zero | tr '\\0' x); kill -KILL $$");

  const std::uint64_t small_peak = wait_for_exit(small.process).peak_memory_bytes;
  const std::uint64_t large_peak = wait_for_exit(large.process).peak_memory_bytes;

  CHECK(small_peak > 0);
  CHECK(small_peak < 32 * k_mib);
  CHECK(large_peak > 32 * k_mib);
  clear(small.process);
  clear(large.process);
}

TEST_CASE("stdout and stderr are captured in their order") {
  Child child = shell("echo one; echo two >&2; echo three");

  wait_for_exit(child.process);

  CHECK(child.process.output_tail(100) == "one\ntwo\nthree\n");
  clear(child.process);
}

TEST_CASE("a program that is not there is an error that names it") {
  auto ends = base::value_or_throw(wire::make_channel());

  auto process = Process::spawn({"/nonexistent/worker", {}, {}}, std::move(ends.second));

  REQUIRE(!process.has_value());
  CHECK(process.error().code == base::Errc::not_found);
  CHECK_THAT(process.error().message, ContainsSubstring("/nonexistent/worker"));
}

TEST_CASE("the environment is exactly the one given") {
  Child child =
      shell("read line < /dev/null; env -u PWD -u SHLVL -u _ -u OLDPWD | sort", "ONLY=this");

  wait_for_exit(child.process);

  CHECK(child.process.output_tail(1000) == "ONLY=this\nPATH=/usr/bin:/bin\n");
  clear(child.process);
}

TEST_CASE("the group's grandchildren end with the leader, and leave no zombie of ours") {
  launch::adopt_orphans();
  std::string token = test_launch::make_token();
  Child child =
      shell("trap '' TERM; (trap '' TERM; sleep 1000) & (sleep 1000 & sleep 1000) & exit 0", token);

  wait_for_exit(child.process);
  clear(child.process);

  CHECK(test_launch::processes_with(token).empty());
  CHECK(::kill(-child.process.pid(), 0) == -1); // not even a zombie holds the group's id
}

TEST_CASE("a process that is dropped is killed with its group") {
  launch::adopt_orphans();
  std::string token = test_launch::make_token();
  {
    Child child = shell("sleep 1000 & echo up; sleep 1000", token);
    while (child.process.output_tail(10).empty())
      child.process.read_output();
  }

  CHECK(test_launch::wait_for_count(token, "", 0, 10).empty());
}

TEST_CASE("no descriptor but 0 to 3 reaches the child, though ours have no close-on-exec") {
  int leaked = ::open("/dev/null", O_RDONLY);
  int high = ::fcntl(leaked, F_DUPFD, 200);
  Child child = shell("for fd in /proc/self/fd/*; do echo ${fd##*/}; done");

  wait_for_exit(child.process);
  ::close(leaked);
  ::close(high);

  // The shell lists its own with one that it opened for the listing.
  CHECK_THAT(child.process.output_tail(1000), !ContainsSubstring("200"));
  CHECK_THAT(child.process.output_tail(1000), ContainsSubstring("0\n1\n2\n"));
  clear(child.process);
}

TEST_CASE("a child may use the whole host though its parent is bound, if it is told to") {
  cpu_set_t before;
  cpu_set_t first;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  if (CPU_COUNT(&before) < 2)
    NCCLPROBE_SKIP("this machine lets us use one CPU");
  CPU_ZERO(&first);
  for (int cpu = 0; CPU_COUNT(&first) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before))
      CPU_SET(cpu, &first);
  ::sched_setaffinity(0, sizeof first, &first);
  auto cpus_of_child = [](launch::Affinity affinity) {
    auto ends = base::value_or_throw(wire::make_channel());
    auto process = base::value_or_throw(
        Process::spawn({"/usr/bin/nproc", {}, {}, affinity}, std::move(ends.second)));
    wait_for_exit(process);
    clear(process);
    return std::stoi(process.output_tail(100));
  };

  int inherited = cpus_of_child(launch::Affinity::inherited);
  int all = cpus_of_child(launch::Affinity::before_binding);
  cpu_set_t after;
  ::sched_getaffinity(0, sizeof after, &after);
  ::sched_setaffinity(0, sizeof before, &before);

  CHECK(inherited == 1);
  CHECK(all >= CPU_COUNT(&before));
  CHECK(CPU_EQUAL(&after, &first)); // the parent stays as it was
}
