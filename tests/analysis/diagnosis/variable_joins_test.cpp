// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "diagnosed.h"

#include "support/catch.h"

// A line that sets a variable and the lines that show its effect are one finding.
namespace ncclprobe::analysis {
namespace {

using knowledge::CauseSeverity;
using test_diagnosis::Diagnosed;
using Named = std::vector<std::string>;

const std::string k_shm = "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n";

std::string set(const std::string& variable, const std::string& value) {
  return "a:1:1 [0] NCCL INFO " + variable + " set by environment to " + value + ".\n";
}

} // namespace

TEST_CASE("P2P that a variable switched off is one finding with the way through shared memory") {
  Diagnosed log(set("NCCL_P2P_DISABLE", "1") + k_shm);

  CHECK(log.named() == Named{"p2p-switched-off"});
  CHECK(log.diagnosis.remarks.empty());
  CHECK(log.diagnosis.severity == CauseSeverity::warn);
  CHECK_FALSE(log.diagnosis.first_failure);
  REQUIRE(log.diagnosis.causes[0]->first.size() == 2);
  CHECK(log.diagnosis.causes[0]->first[1].line == 2);
  CHECK(log.diagnosis.causes[0]->first[1].text == "1 pair of ranks on one host: 0->1 (via SHM)");
  CHECK_THAT(log.text(),
             ContainsSubstring("no failure, but a warning: NCCL_P2P_DISABLE=1 disables P2P"));
}

TEST_CASE("the way through shared memory without the variable stays a remark") {
  CHECK(Diagnosed(k_shm).diagnosis.remarks.size() == 1);
  CHECK(Diagnosed(set("NCCL_P2P_DISABLE", "0") + k_shm).diagnosis.remarks.size() == 1);
  CHECK(Diagnosed(set("NCCL_P2P_DISABLE", "0") + k_shm).named().empty());
}

TEST_CASE("a variable that a script exports counts as one that NCCL reports") {
  CHECK(Diagnosed("+ export NCCL_P2P_DISABLE=1\n" + k_shm).named() == Named{"p2p-switched-off"});
  CHECK(Diagnosed("mpirun -x NCCL_IB_DISABLE=1 ./train\na:1:1 [0] NCCL INFO Using network Socket\n")
            .named() == Named{"ib-switched-off"});
}

TEST_CASE("a variable alone shows nothing that went wrong") {
  for (const char* variable : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"}) {
    INFO(variable);
    CHECK(Diagnosed(set(variable, "1")).named().empty());
  }
}

TEST_CASE("switched-off InfiniBand, and sockets that were asked for, are told with the network") {
  const std::string socket = "a:1:1 [0] NCCL INFO Using network Socket\n";
  Diagnosed log(set("NCCL_IB_DISABLE", "1") + socket);
  CHECK(log.named() == Named{"ib-switched-off"});
  REQUIRE(log.diagnosis.causes[0]->first.size() == 2);
  CHECK_THAT(log.diagnosis.causes[0]->first[1].text, ContainsSubstring("Using network Socket"));
  CHECK(Diagnosed(set("NCCL_NET", "Socket") + socket).named() == Named{"net-forced-to-sockets"});
  CHECK(Diagnosed(socket).named().empty());
}

TEST_CASE("switched-off shared memory explains the network between ranks of one host") {
  const std::string net =
      "a:1:1 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 1 localRanks 2\n"
      "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n";
  Diagnosed log(set("NCCL_SHM_DISABLE", "1") + net);

  CHECK(log.named() == Named{"shm-switched-off"});
  CHECK(log.diagnosis.remarks.empty());
  CHECK(Diagnosed(net).diagnosis.remarks.size() == 1);
}

TEST_CASE("an interface that was asked for is evidence where none is found") {
  Diagnosed log(set("NCCL_SOCKET_IFNAME", "eth7") +
                "a:1:1 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found\n");

  CHECK(log.named() == Named{"nccl-no-socket-interface"});
  REQUIRE(log.diagnosis.causes[0]->first.size() == 2);
  CHECK_THAT(log.diagnosis.causes[0]->first[0].text, ContainsSubstring("eth7"));
  CHECK(Diagnosed(set("NCCL_SOCKET_IFNAME", "^lo,docker")).says_nothing());
}

TEST_CASE("an algorithm that was forced is the cause where none is left") {
  const std::string none =
      "a:1:1 [0] enqueue.cc:422 NCCL WARN Error : no algorithm/protocol available\n";
  CHECK(Diagnosed(set("NCCL_ALGO", "CollNet") + none).named() == Named{"nccl-bad-setting"});
  CHECK(Diagnosed(none).named() == Named{"?nccl-no-algorithm"});
}

TEST_CASE("NVLink SHARP that a variable switched off is a note") {
  Diagnosed log(set("NCCL_NVLS_ENABLE", "0") +
                "a:1:1 [0] NCCL INFO NVLS multicast support is not available on dev 0\n");

  CHECK(log.named().empty());
  CHECK(log.shows("nvls-switched-off"));
  CHECK(log.diagnosis.severity == CauseSeverity::info);
}

TEST_CASE("who has set NCCL_DEBUG is not told to set it") {
  const std::string died =
      "a:1:1 [0] NCCL WARN socketProgress: Connection closed by remote peer b<1>\n";
  CHECK_THAT(Diagnosed(died).text(), ContainsSubstring("NCCL_DEBUG=INFO"));
  CHECK_THAT(Diagnosed("a:1:1 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0\n" + died).text(),
             !ContainsSubstring("run again with NCCL_DEBUG=INFO"));
}

} // namespace ncclprobe::analysis
