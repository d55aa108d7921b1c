// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "patient.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using namespace ncclprobe::test_doctor;

namespace {

// One rank on each of two hosts, which differ in their address alone.
Case two_hosts() {
  Case one = healthy_case();
  one.surveys[0].inventory.hostname = "alpha";
  one.surveys[1].inventory.hostname = "beta";
  one.surveys[1].inventory.boot_id = "boot-2";
  one.surveys[1].host = one.surveys[0].host;
  one.surveys[1].host->interfaces[1].addresses = {"192.0.2.3"};
  return one;
}

CheckResult gravest(const Case& one, const std::string& id) {
  return found(one, id).front();
}

} // namespace

TEST_CASE("two hosts on one network are well") {
  CHECK(worst(two_hosts(), "D18") == CheckStatus::ok);
  CHECK(worst(two_hosts(), "D32") == CheckStatus::ok);
}

TEST_CASE("hosts that would use differently named interfaces are a warning") {
  Case one = two_hosts();
  one.surveys[1].host->interfaces[1].name = "ens5";

  CHECK(worst(one, "D18") == CheckStatus::warn);
}

TEST_CASE("hosts that would be met at one address are a failure that names them") {
  Case one = two_hosts();
  one.surveys[1].host->interfaces[1].addresses = {"192.0.2.2"};

  CheckResult finding = gravest(one, "D18");

  CHECK(finding.status == CheckStatus::fail);
  CHECK(finding.hosts == std::vector<std::string>{"alpha", "beta"});
  CHECK(finding.what.kind == "same_address");
  CHECK(value(finding.what, "address") == "192.0.2.2");
}

TEST_CASE("different sizes of packets are a warning with the smallest as the fix") {
  Case one = two_hosts();
  one.surveys[0].host->interfaces[1].mtu_bytes = 9000;

  CheckResult finding = gravest(one, "D18");

  CHECK(finding.status == CheckStatus::warn);
  CHECK(value(finding.what, "smallest") == "1500");
  CHECK(finding.evidence == std::vector<std::string>{"alpha: eth0 192.0.2.2, MTU 9000",
                                                     "beta: eth0 192.0.2.3, MTU 1500"});
}

TEST_CASE("a name that leads to the loopback matters where there are several hosts") {
  Case one = two_hosts();
  one.surveys[1].host->name_addresses = {"127.0.1.1"};
  CheckResult finding = gravest(one, "D18");
  CHECK(finding.status == CheckStatus::warn);
  CHECK(finding.hosts == std::vector<std::string>{"beta"});
  CHECK(finding.evidence == std::vector<std::string>{"beta is 127.0.1.1 there"});

  one.surveys[1].host->name_addresses.emplace_back("192.0.2.3");
  CHECK(worst(one, "D18") == CheckStatus::ok);
  Case alone = healthy_case();
  alone.surveys[0].host->name_addresses = {"127.0.1.1"};
  CHECK(worst(alone, "D18") == CheckStatus::ok);
}

TEST_CASE("with the host backend it is Gloo that chooses") {
  Case one = two_hosts();
  one.backend = "host";
  for (model::Survey& survey : one.surveys)
    survey.process.environment = {{"GLOO_SOCKET_IFNAME", "eth"}}; // no prefix, for Gloo

  CheckResult finding = gravest(one, "D18");

  CHECK(finding.status == CheckStatus::fail);
  CHECK(finding.what.kind == "gloo_interface_not_running");
  CHECK(value(finding.what, "name") == "eth");
  for (model::Survey& survey : one.surveys)
    survey.process.environment[0].value = "eth0";
  CHECK(worst(one, "D18") == CheckStatus::ok);
}

TEST_CASE("connections that fail are a failure of the rank that tried, with both hosts") {
  Case one = two_hosts();
  one.connections = {{0, 1, "192.0.2.3", ""}, {1, 0, "192.0.2.2", "timed out"}};

  CheckResult finding = gravest(one, "D18");

  CHECK(finding.status == CheckStatus::fail);
  CHECK(finding.ranks == std::vector<int>{1});
  CHECK(finding.hosts == std::vector<std::string>{"beta"});
  CHECK(finding.evidence ==
        std::vector<std::string>{"rank 1 on beta to rank 0 on alpha at 192.0.2.2: timed out"});
}

TEST_CASE("ranks that disagree are named with their hosts; where they may, it is no failure") {
  Case one = two_hosts();
  one.surveys[0].process.environment = {{"NCCL_ALGO", "Ring"}};
  CheckResult finding = gravest(one, "D14");
  CHECK(finding.status == CheckStatus::fail);
  CHECK(finding.evidence ==
        std::vector<std::string>{"(not set): rank 1 on beta", "Ring: rank 0 on alpha"});

  one.surveys[0].process.environment = {{"NCCL_SOCKET_IFNAME", "eth0"}};
  CHECK(worst(one, "D14") == CheckStatus::info);

  one.surveys[0].process.environment = {{"OMP_NUM_THREADS", "4"}};
  finding = gravest(one, "D32");
  CHECK(finding.status == CheckStatus::warn);
  CHECK(finding.what.kind == "environment_differs");
  CHECK(value(finding.what, "variable") == "OMP_NUM_THREADS");
}

TEST_CASE("what stopped all ranks says nothing of types") {
  Case one = two_hosts();
  model::Outcome stopped{model::OutcomeKind::failed, "no way to rank 1", {0}};
  one.smoke_tests[0].outcome = stopped;
  for (SmokeTestCell& cell : one.smoke_tests[0].cells)
    cell.outcome = stopped;

  CHECK(worst(one, "D27") == CheckStatus::fail);
  CHECK(found(one, "D25").empty());
}
