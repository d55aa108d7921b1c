// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/nccl_log.h"
#include "base/atomic_file.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace ncclprobe;
using analysis::read_nccl_log;

TEST_CASE("settings, choices and surroundings are read off a log of NCCL 2.28.3") {
  // Lines of a real log of rank 0 on 8 GPUs, most left out.
  auto text =
      base::read_file(support::source_dir() + "/tests/analysis/data/nccl-2.28.3-excerpt.log");
  REQUIRE(text.has_value());

  analysis::NcclLog log = read_nccl_log(*text);

  CHECK(log.nodes == 1);
  CHECK(log.has_words);
  CHECK_FALSE(log.used_network);
  CHECK(log.warnings.empty());
  REQUIRE(log.setting("NCCL_NVLS_ENABLE") != nullptr);
  CHECK(log.setting("NCCL_NVLS_ENABLE")->value == "0");
  CHECK(log.setting("NCCL_NVLS_ENABLE")->line == "NCCL_NVLS_ENABLE set by environment to 0.");
  CHECK(log.setting("NCCL_TOPO_DUMP_FILE")->value == "topo.xml");
  CHECK(log.setting("NCCL_ALGO") == nullptr);
  REQUIRE(log.choices.size() >= 3);
  CHECK(log.choices[0].function == "AllReduce");
  CHECK(log.choices[0].bytes == 1024);
  CHECK(log.choices[0].algorithm == "RING");
  CHECK(log.choices[0].protocol == "LL");
  CHECK(log.choices[0].channels == 1);
  CHECK(log.choices[1].channels == 24);
  // Plugins that were looked for and not found are not in the way; a configuration is.
  CHECK(log.interventions == std::vector<std::string>{"Comm config nvlinkCentricSched set to 1"});
}

TEST_CASE("plugins, configuration files, warnings and the network are seen") {
  analysis::NcclLog log =
      read_nccl_log("ncclprobe: configuration file /etc/nccl.conf sets NCCL_MAX_CTAS\n"
                    "h:1:1 [0] NCCL INFO TUNER/Plugin: Using tuner plugin example\n"
                    "h:1:1 [0] NCCL INFO TUNER/Plugin: Using tuner plugin example\n"
                    "h:1:1 [0] NCCL INFO ENV/Plugin: Using ncclEnvDefault (v1), the default\n"
                    "\n"
                    "h:1:1 [0] graph/tuning.cc:1 NCCL WARN something\n"
                    "h:1:1 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0\n"
                    "h:1:1 [0] NCCL INFO AllReduce: x Bytes -> Algo RING\n");
  CHECK(log.interventions.size() == 2);
  CHECK(log.warnings == std::vector<std::string>{"something"});
  CHECK(log.used_network);
  CHECK(log.choices.empty());
}

TEST_CASE("the network that NCCL chose is told with its interfaces") {
  analysis::NcclLog socket =
      read_nccl_log("h:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so\n"
                    "h:1:1 [0] NCCL INFO NET/IB : No device found.\n"
                    "h:1:1 [0] NCCL INFO NET/IB : Using [RO]; OOB eth0:192.0.2.2<0>\n"
                    "h:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.2<0> "
                    "[1]eth1:fe80::1%eth1<0>\n"
                    "h:1:1 [0] NCCL INFO Initialized NET plugin Socket\n"
                    "h:1:1 [0] NCCL INFO Using network Socket\n"
                    "h:1:1 [0] NCCL INFO Using network Socket\n");
  CHECK(socket.network == "Socket");
  CHECK(socket.interfaces == std::vector<std::string>{"eth0", "eth1"});
  CHECK(socket.network_lines.size() == 5);

  analysis::NcclLog infiniband = read_nccl_log(
      "h:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:1<0>\n"
      "h:1:1 [0] NCCL INFO Using network IB\n");
  CHECK(infiniband.network == "IB");
  CHECK(infiniband.interfaces == std::vector<std::string>{"mlx5_0:1/IB", "mlx5_1:1/RoCE"});

  analysis::NcclLog plugin =
      read_nccl_log("h:1:1 [0] NCCL INFO NET/OFI Selected provider is efa (found 4 nics)\n"
                    "h:1:1 [0] NCCL INFO Using network AWS Libfabric\n");
  CHECK(plugin.network == "AWS Libfabric");
  CHECK(plugin.interfaces.empty());
  CHECK(plugin.network_lines.size() == 2);

  CHECK(read_nccl_log("h:1:1 [0] NCCL INFO NET/Socket : Using [\n").network.empty());
}

TEST_CASE("an empty log has no words, nor has one with our own alone") {
  CHECK_FALSE(read_nccl_log("").has_words);
  CHECK_FALSE(read_nccl_log("ncclprobe: there is no log\n").has_words);
}

TEST_CASE("the ways between ranks are read off a log, each once") {
  analysis::NcclLog log = read_nccl_log(
      "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "h:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "h:1:1 [0] NCCL INFO Channel 00 : 1[1b000] -> 2[2000] via SHM/direct/direct\n"
      "h:1:1 [0] NCCL INFO Channel 00/0 : 3[3] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "h:1:1 [0] NCCL INFO Channel 00/0 : 3 -> 0[0] via NET/IB/0\n"
      "h:1:1 [0] NCCL INFO Channel 00/0 : 3[3 -> 0 via \n"
      "h:1:1 [0] NCCL INFO AllReduce via magic : 1[1] -> 2[2] via P2P/IPC\n");

  REQUIRE(log.connections.size() == 3);
  CHECK(log.connections[0] == analysis::ConnectionLine{0, 1, "0", "1", "P2P/CUMEM", false});
  CHECK(log.connections[0].is_direct());
  CHECK(log.connections[1] ==
        analysis::ConnectionLine{1, 2, "1b000", "2000", "SHM/direct/direct", false});
  CHECK_FALSE(log.connections[1].is_direct());
  CHECK(log.connections[2] == analysis::ConnectionLine{3, 0, "3", "0", "NET/IB/0/GDRDMA", true});
}
