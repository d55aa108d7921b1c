// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/allowed_cpus.h"
#include "launch/supervisor/cpu_policy.h"
#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;
using launch::choose_cpus;
using Cpus = std::vector<int>;

namespace {

// What this test may run on, which is all that can be chosen from.
const Cpus k_allowed = base::allowed_cpus();

std::string refusal(const std::string& policy, const launch::HostCpus& host, int rank = 0) {
  auto chosen = choose_cpus(policy, host, {rank});
  if (chosen)
    return "";
  CHECK(chosen.error().code == base::Errc::unsupported);
  return chosen.error().message;
}

} // namespace

TEST_CASE("a choice of CPUs is a word or a list") {
  for (const char* policy : {"numa", "none", "launcher", "core", "0", "0-3,8", "0-3/4-7"}) {
    INFO(policy);
    CHECK(launch::check_cpu_policy(policy).has_value());
  }
  for (const char* policy : {"", "node", "3-1", "0/", "a-b", "-1"}) {
    INFO(policy);
    auto checked = launch::check_cpu_policy(policy);
    REQUIRE_FALSE(checked.has_value());
    CHECK_THAT(checked.error().text(), ContainsSubstring("numa, none, launcher, core"));
    CHECK_FALSE(choose_cpus(policy, {}, {0}).has_value()); // whoever did not check it
  }
}

TEST_CASE("none is all that the job may use, and launcher what this process may") {
  CHECK(choose_cpus("none", {}, {0})->cpus == k_allowed);
  CHECK(choose_cpus("launcher", {}, {0})->cpus == k_allowed);
  CHECK(choose_cpus("launcher", {launch::Affinity::before_binding, {}}, {0})->affinity ==
        launch::Affinity::inherited);
}

TEST_CASE("numa is what is near and allowed, and nothing else will do") {
  launch::HostCpus host;
  host.near = {{0, {k_allowed.front(), 8000}}, {1, {8000}}, {2, {}}};

  CHECK(choose_cpus("numa", host, {0})->cpus == Cpus{k_allowed.front()});
  CHECK_THAT(refusal("numa", host, 1),
             ContainsSubstring("CPU 8000") && ContainsSubstring("rank 1"));
  CHECK_THAT(refusal("numa", host, 2), ContainsSubstring("does not say"));
  CHECK_THAT(refusal("numa", host, 3), ContainsSubstring("does not say"));
}

TEST_CASE("a list must be allowed whole, and several go round the ranks of the host") {
  const std::string first = std::to_string(k_allowed.front());
  const std::string last = std::to_string(k_allowed.back());
  launch::HostCpus host;
  host.near = {{4, {}}, {5, {}}, {6, {}}};

  CHECK(choose_cpus(first, host, {5})->cpus == Cpus{k_allowed.front()});
  CHECK(choose_cpus(first + "/" + last, host, {5})->cpus == Cpus{k_allowed.back()});
  CHECK(choose_cpus(first + "/" + last, host, {6})->cpus == Cpus{k_allowed.front()});
  CHECK(choose_cpus(first + "/" + last, host, {4, 5})->cpus.size() ==
        (first == last ? 1U : 2U)); // of a worker that drives both
  CHECK_THAT(refusal(first + ",8000", host, 4),
             ContainsSubstring("8000") && ContainsSubstring("which this job may use"));
}

TEST_CASE("each rank has a core of its own, with its hyperthreads, until there is none left") {
  support::FileTree sysfs;
  for (int cpu : k_allowed) // all are one core
    sysfs.file(fmt::format("devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu),
               fmt::format("{}-{}\n", k_allowed.front(), k_allowed.back()));
  launch::HostCpus host{launch::Affinity::inherited, {{0, {}}, {1, {}}}, sysfs.root()};

  CHECK(choose_cpus("core", host, {0})->cpus == k_allowed);
  CHECK_THAT(refusal("core", host, 1),
             ContainsSubstring("rank 1 is number 2") && ContainsSubstring("there are 1"));
  host.sysfs = "/nowhere"; // then a CPU is a core
  CHECK(choose_cpus("core", host, {0})->cpus == Cpus{k_allowed.front()});
  if (k_allowed.size() > 1)
    CHECK(choose_cpus("core", host, {1})->cpus == Cpus{k_allowed[1]});
  host.near = {{0, {k_allowed.back()}}, {1, {k_allowed.front()}}};
  CHECK(choose_cpus("core", host, {0})->cpus == Cpus{k_allowed.back()});
  CHECK(choose_cpus("core", host, {1})->cpus == Cpus{k_allowed.front()});
}
