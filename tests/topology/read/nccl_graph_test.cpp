// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_files.h"
#include "topology/read/nccl_graph.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

namespace {

std::string graph_complaint(const std::string& text) {
  auto graphs = read_nccl_graphs(text, "graph.xml");
  return graphs ? "" : graphs.error().text();
}

} // namespace

TEST_CASE("a recorded graph dump gives rings, trees and what cannot be used") {
  auto graphs = read_nccl_graphs(machine_text("eight-h200-vm.graph.xml"), "graph.xml");

  REQUIRE(graphs);
  REQUIRE(graphs->size() == 5);
  const NcclGraph& ring = graphs->at(0);
  CHECK(ring.name() == "ring");
  CHECK(ring.channels.size() == 12);
  CHECK(ring.gb_per_s_intra == 30);
  CHECK(ring.path_intra == "NVL");
  CHECK(ring.channels[11].gpus == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(graphs->at(1).name() == "tree");
  CHECK(graphs->at(2).channels.empty());
}

TEST_CASE("graphs across nodes name the networks at both ends, newer ones the ranks") {
  auto graphs = read_nccl_graphs(
      R"(<graphs version="1"><graph id="0" pattern="4" nchannels="1"><channel>
         <net dev="0x1"/><gpu dev="0" rank="3"/><gpu dev="1" rank="2"/><net dev="2"/>
         </channel></graph></graphs>)",
      "graph.xml");

  REQUIRE(graphs);
  const NcclChannel& channel = graphs->at(0).channels.at(0);
  CHECK(channel.net_in == 1);
  CHECK(channel.net_out == 2);
  CHECK(channel.ranks == std::vector<int>{3, 2});
}

TEST_CASE("bad graphs are refused with file and line") {
  CHECK_THAT(graph_complaint("<graphs version=\"1\"/>"), ContainsSubstring("has no <graph>"));
  CHECK_THAT(graph_complaint("<system/>"), ContainsSubstring("graph.xml:1: graphs of NCCL begin"));
  CHECK_THAT(graph_complaint("<graphs>\n<graph id=\"0\"/></graphs>"),
             ContainsSubstring("graph.xml:2: <graph> without pattern"));
  CHECK_THAT(graph_complaint("<graphs>\n<graph id=\"0\" pattern=\"4\" nchannels=\"2\"/></graphs>"),
             ContainsSubstring("graph.xml:2: <graph>: nchannels=\"2\", but it has 0"));
  CHECK_THAT(graph_complaint("<graphs><graph id=\"0\" pattern=\"4\" nchannels=\"0\"/>\n"
                             "<graph id=\"0\" pattern=\"4\" nchannels=\"0\"/></graphs>"),
             ContainsSubstring("graph.xml:2: a second <graph> with id=\"0\""));
  CHECK_THAT(graph_complaint("<graphs><graph id=\"0\" pattern=\"4\" nchannels=\"1\">\n<channel>"
                             "<gpu dev=\"first\"/></channel></graph></graphs>"),
             ContainsSubstring("graph.xml:2: <gpu>: dev=\"first\" is not a number"));
}
