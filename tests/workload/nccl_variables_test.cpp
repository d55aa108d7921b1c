// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/nccl_variables.h"

#include <set>

using namespace ncclprobe::workload;

TEST_CASE("every variable of NCCL 2.30.7 and the new ones of 2.31.2 are known once") {
  std::set<std::string_view> names;
  for (const Variable& variable : nccl_variables())
    names.insert(variable.name);
  CHECK(names.size() == nccl_variables().size());
  CHECK(names.size() == 249 + 16);
}

TEST_CASE("a variable's kind, range and scope are known") {
  const Variable* ctas = find_variable("NCCL_MIN_CTAS");
  REQUIRE(ctas != nullptr);
  CHECK(ctas->kind == ValueKind::integer);
  CHECK(ctas->range.least == 1);
  CHECK(ctas->range.most == 64);
  CHECK(ctas->scope == Scope::any);

  CHECK(find_variable("NCCL_P2P_DISABLE")->kind == ValueKind::boolean);
  CHECK(find_variable("NCCL_P2P_LEVEL")->kind == ValueKind::level);
  CHECK(find_variable("NCCL_ALGO")->kind == ValueKind::algorithms);
  CHECK(find_variable("NCCL_PROTO")->kind == ValueKind::protocols);
  CHECK(find_variable("NCCL_TOPO_FILE")->kind == ValueKind::text);
  CHECK(find_variable("NCCL_IB_TC")->range.least == -1); // automatic
  CHECK(find_variable("NCCL_IB_TC")->scope == Scope::infiniband);
  CHECK(find_variable("NCCL_NSOCKS_PERTHREAD")->scope == Scope::socket);
  CHECK(find_variable("NCCL_SOCKET_IFNAME")->scope == Scope::any); // the bootstrap uses it too
  CHECK(find_variable("NCCL_P2P_LL_THRESHOLD")->scope == Scope::send_receive);
  CHECK(find_variable("NCCL_MIN_CTA") == nullptr);
}

TEST_CASE("names that are no longer read have a replacement") {
  REQUIRE(find_retired_variable("NCCL_IB_GDR_LEVEL") != nullptr);
  CHECK(find_retired_variable("NCCL_IB_GDR_LEVEL")->replacement == "NCCL_NET_GDR_LEVEL");
  CHECK(find_variable("NCCL_TREE_THRESHOLD") == nullptr);
  CHECK(find_retired_variable("NCCL_ALGO") == nullptr);
}

TEST_CASE("a misspelt name finds the nearest one") {
  CHECK(nearest_variable("NCCL_ALGOS") == "NCCL_ALGO");
  CHECK(nearest_variable("NCCL_BUFSIZE") == "NCCL_BUFFSIZE");
  CHECK(nearest_variable("NCCL_IB_QP_PER_CONNECTION") == "NCCL_IB_QPS_PER_CONNECTION");
  CHECK(nearest_variable("NCCL_MIN_NCHANNEL") == "NCCL_MIN_NCHANNELS");
  CHECK_FALSE(nearest_variable("NCCL_SOMETHING_ALTOGETHER_DIFFERENT").has_value());
  CHECK_FALSE(nearest_variable("X").has_value());
}

TEST_CASE("an integer is read as NCCL reads it") {
  CHECK(read_integer("0x10").value == 16);
  CHECK(read_integer("010").value == 8);
  CHECK(read_integer("010").whole);
  CHECK(read_integer("4M").value == 4);
  CHECK_FALSE(read_integer("4M").whole);
  CHECK(read_integer("yes").value == 0);
  CHECK_FALSE(read_integer("yes").whole);
  CHECK_FALSE(read_integer("").whole);
}

TEST_CASE("a word is one of a list as it stands there") {
  CHECK(is_word_of("LOC|NVL|SYS", "NVL"));
  CHECK(is_word_of("LOC|NVL|SYS", "SYS"));
  CHECK_FALSE(is_word_of("LOC|NVL|SYS", "nvl"));
  CHECK_FALSE(is_word_of("LOC|NVL|SYS", ""));
}
