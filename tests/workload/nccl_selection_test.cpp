// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/nccl_selection.h"

using namespace ncclprobe;
using namespace ncclprobe::workload;
using Words = std::vector<std::string_view>;

TEST_CASE("a list names what is allowed, a caret what is not, in any case") {
  CHECK(*allowed_algorithms("ring,TREE", "AllReduce") == Words{"Tree", "Ring"});
  CHECK(*allowed_algorithms("^NVLS,NVLSTree,PAT,CollNetDirect,CollNetChain", "AllReduce") ==
        Words{"Tree", "Ring"});
  CHECK(*allowed_protocols("^LL128", "AllReduce") == Words{"LL", "Simple"});
  CHECK(allowed_protocols("", "AllReduce")->size() == 3);
}

TEST_CASE("entries with a function replace what was said of that function only") {
  const char* value = "ring,collnetdirect;allreduce:tree;broadcast:^tree";
  CHECK(*allowed_algorithms(value, "AllGather") == Words{"Ring", "CollNetDirect"});
  CHECK(*allowed_algorithms(value, "AllReduce") == Words{"Tree"});
  CHECK(allowed_algorithms(value, "Broadcast")->size() == 6);
  CHECK(allowed_algorithms("allreduce:tree", "AllGather")->size() == 7);
}

TEST_CASE("what NCCL would refuse is an error") {
  CHECK_THAT(allowed_algorithms("Rings", "AllReduce").error().message,
             ContainsSubstring("'Rings'"));
  CHECK_THAT(allowed_protocols("LL,LL64", "AllReduce").error().message,
             ContainsSubstring("'LL64' is not one of LL, LL128, Simple"));
  CHECK_THAT(allowed_algorithms("alltoall:ring", "AllReduce").error().message,
             ContainsSubstring("'alltoall' is not a function"));
  CHECK_FALSE(allowed_algorithms("ring;tree", "AllReduce").has_value());
}

TEST_CASE("sends and what is made of them are outside the rules") {
  CHECK(nccl_function(model::Collective::all_reduce) == "AllReduce");
  CHECK_FALSE(nccl_function(model::Collective::all_to_all).has_value());
  CHECK_FALSE(nccl_function(model::Collective::send_recv).has_value());
  CHECK_FALSE(nccl_function(model::Collective::gather).has_value());
}

TEST_CASE("each collective has its own algorithms") {
  MachineShape node{.nodes = 1, .ranks_per_node = 8, .nvls = true};
  auto why = [&](std::string_view function, const Variables& variables) {
    return why_impossible(function, variables, node);
  };

  CHECK(why("AllReduce", {}).empty());
  CHECK(why("AllReduce", {{"NCCL_ALGO", "Tree"}}).empty());
  CHECK(why("Broadcast", {{"NCCL_ALGO", "Tree,Ring"}}).empty());
  CHECK_THAT(why("Broadcast", {{"NCCL_ALGO", "Tree"}}),
             ContainsSubstring(
                 "NCCL has no algorithm left for Broadcast: Tree does not support Broadcast"));
  CHECK_THAT(why("AllReduce", {{"NCCL_ALGO", "PAT"}}),
             ContainsSubstring("PAT does not support AllReduce"));
  CHECK_THAT(why("AllGather", {{"NCCL_ALGO", "PAT"}}), ContainsSubstring("one GPU per node"));
  CHECK(why("AllGather", {{"NCCL_ALGO", "PAT"}, {"NCCL_PAT_ENABLE", "1"}}).empty());
  CHECK_THAT(why("AllReduce", {{"NCCL_ALGO", "NVLSTree"}}),
             ContainsSubstring("more than one node"));
  CHECK_THAT(why("AllReduce", {{"NCCL_ALGO", "CollNetChain"}}),
             ContainsSubstring("NCCL_COLLNET_ENABLE=1"));
}

TEST_CASE("NVLS goes with Simple only, and only where the machine and the settings have it") {
  MachineShape node{.nodes = 1, .ranks_per_node = 8, .nvls = true};
  CHECK(why_impossible("AllReduce", {{"NCCL_ALGO", "NVLS"}}, node).empty());
  CHECK_THAT(why_impossible("AllReduce", {{"NCCL_ALGO", "NVLS"}, {"NCCL_PROTO", "LL"}}, node),
             ContainsSubstring("NVLS works with protocol Simple only"));
  CHECK_THAT(why_impossible("AllReduce", {{"NCCL_ALGO", "NVLS"}, {"NCCL_NVLS_ENABLE", "0"}}, node),
             ContainsSubstring("NCCL_NVLS_ENABLE=0 switches NVLS off"));
  node.nvls = false;
  CHECK_THAT(why_impossible("AllReduce", {{"NCCL_ALGO", "NVLS"}}, node),
             ContainsSubstring("NVLink switches"));
  CHECK(why_impossible("AllReduce", {{"NCCL_ALGO", "NVLS"}}, MachineShape{}).empty()); // not known
}
