// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "store/child_jobs.h"
#include "store/child_process.h"
#include "support/catch.h"

#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

using namespace ncclprobe;
using namespace std::chrono_literals;
using base::Errc;
using store::ChildJob;
using store::Progress;

namespace {

constexpr store::ChildLimits k_limits{300ms, 100ms, 20s, 0};

void compute_for(std::chrono::nanoseconds time) {
  const base::Deadline end = base::Deadline::after(time);
  while (!end.expired()) {
  }
}

base::Result<std::string> run(std::function<base::Result<std::string>(const Progress&)> job,
                              const store::ChildLimits& limits = k_limits) {
  return store::run_in_child({ChildJob{"some.h5", "read", limits, std::move(job), {}}}).front();
}

} // namespace

TEST_CASE("a job that gets no further is ended after the processor time of a stall") {
  auto result = run(
      [](const Progress&) -> base::Result<std::string> {
        compute_for(1min);
        return "never";
      },
      {.cpu = 1min, .stall = 100ms, .wall = 5min});

  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::timed_out);
  CHECK(result.error().message ==
        "some.h5 is damaged: a process that tried to read it did not finish in time");
}

TEST_CASE("a job that gets further all the time is ended after its processor time") {
  auto result = run(
      [](const Progress& progress) -> base::Result<std::string> {
        for (const auto end = base::Deadline::after(1min); !end.expired(); progress())
          compute_for(1ms);
        return "never";
      },
      {.cpu = 300ms, .stall = 100ms, .wall = 5min});

  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::timed_out);
}

TEST_CASE("a job that gets further all the time is not taken for a stalled one") {
  auto result = run(
      [](const Progress& progress) -> base::Result<std::string> {
        for (int part = 0; part < 20; ++part, progress())
          compute_for(50ms);
        return "done";
      },
      {.cpu = 1min, .stall = 500ms, .wall = 5min});

  REQUIRE((result ? *result : result.error().text()) == "done");
}

TEST_CASE("each job has limits of its own") {
  auto job = [](const Progress&) -> base::Result<std::string> {
    compute_for(60ms);
    return "done";
  };
  std::vector<ChildJob> jobs(10, ChildJob{"some.h5", "read", k_limits, job, {}});

  const auto results = store::run_in_child(jobs);

  REQUIRE(results.size() == jobs.size());
  for (const auto& result : results)
    CHECK(result);
}

TEST_CASE("Ctrl-C reaches the whole group, and is for the caller to act on") {
  support::ChildProcess group([](int to_test) {
    ::setpgid(0, 0);
    ::signal(SIGINT, [](int) {});
    auto result = run([](const Progress&) -> base::Result<std::string> {
      ::kill(0, SIGINT);
      return "sound";
    });
    support::say(to_test, result ? 'y' : 'n');
  });

  CHECK(group.hear() == 'y');
}

TEST_CASE("a file is not called damaged because somebody killed its reader") {
  auto killed = run([](const Progress&) -> base::Result<std::string> {
    ::raise(SIGKILL);
    return "never";
  });
  auto crashed = run([](const Progress&) -> base::Result<std::string> {
    ::raise(SIGSEGV);
    return "never";
  });

  REQUIRE_FALSE(killed);
  CHECK(killed.error().code == Errc::unavailable);
  CHECK_THAT(killed.error().message, !ContainsSubstring("damaged"));
  REQUIRE_FALSE(crashed);
  CHECK(crashed.error().code == Errc::protocol);
  CHECK_THAT(crashed.error().message, ContainsSubstring("is damaged"));
}

TEST_CASE("a process that cannot be started is an error that names the limit") {
  support::ChildProcess without_rights([](int to_test) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) // no limit holds for root
      support::say(to_test, 's');
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    auto result = run([](const Progress&) -> base::Result<std::string> { return "never"; });
    const bool named = !result && result.error().code == Errc::unavailable &&
                       result.error().hint.find("ulimit -u") != std::string::npos;
    support::say(to_test, named ? 'y' : 'n');
  });

  CHECK(without_rights.hear() == 'y');
}
