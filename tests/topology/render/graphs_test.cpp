// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "support/golden.h"
#include "topology/machine_files.h"
#include "topology/render/graphs.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::topology;

namespace {

std::vector<NcclGraph> recorded() {
  auto graphs =
      read_nccl_graphs(topology_test::machine_text("eight-h200-vm.graph.xml"), "graph.xml");
  REQUIRE(graphs);
  return *graphs;
}

} // namespace

TEST_CASE("rings and trees read as agreed") {
  support::check_golden("topology-graphs.txt", render_graphs(recorded()));
}

TEST_CASE("channels of other orders and across nodes are told apart") {
  NcclGraph ring;
  ring.path_intra = "PIX";
  ring.path_inter = "PHB";
  ring.channels = {{{0, 1}, {}, 2, 3}, {{1, 0}, {}, 2, 3}, {{0, 1}, {}, 2, 3}};

  std::string text = render_graphs({ring});

  CHECK_THAT(text, ContainsSubstring("channels 0,2: NIC 2 > GPU 0 > 1 > NIC 3\n"));
  CHECK_THAT(text, ContainsSubstring("channel 1: NIC 2 > GPU 1 > 0 > NIC 3\n"));
  CHECK_THAT(text, ContainsSubstring("between nodes (PHB)"));
}

TEST_CASE("graphs as JSON hold every channel") {
  auto document = nlohmann::json::parse(write_graphs_json(recorded()));

  CHECK(document.at("graphs").size() == 5);
  CHECK(document.at("graphs").at(0).at("channels").size() == 12);
  CHECK(document.at("graphs").at(0).at("channels").at(0).at("gpus").size() == 8);
  CHECK(document.at("graphs").at(0).at("channels").at(0).at("net_in").is_null());
}
