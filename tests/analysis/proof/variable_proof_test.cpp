// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/variable_proof.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;

namespace {

const std::string k_one_node =
    "h:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n";

VariableProof prove(const model::Setting& setting, const std::string& lines) {
  return prove_variable(setting, read_nccl_log(k_one_node + lines), "nvidia");
}

std::string info(const std::string& words) {
  return "h:1:1 [0] NCCL INFO " + words + "\n";
}

} // namespace

TEST_CASE("a value that NCCL read as asked took effect, with the line") {
  VariableProof proof =
      prove({"NCCL_MAX_CTAS", "0x10"}, info("NCCL_MAX_CTAS set by environment to 16."));
  CHECK(proof.effect == Effect::took_effect);
  CHECK(proof.line == "NCCL_MAX_CTAS set by environment to 16.");
  CHECK(prove({"NCCL_ALGO", "Ring"}, info("NCCL_ALGO set by environment to Ring")).effect ==
        Effect::took_effect);
}

TEST_CASE("another value than asked for was overridden") {
  VariableProof proof =
      prove({"NCCL_MAX_CTAS", "16"}, info("ENV/Plugin: Using example (v1)") +
                                         info("NCCL_MAX_CTAS set by environment to 4."));
  CHECK(proof.effect == Effect::overridden);
  REQUIRE(id_of(proof.reason) == "environment_plugin");
  CHECK(proof.reason->values ==
        Object{{"value", "4"}, {"plugin", "ENV/Plugin: Using example (v1)"}});

  VariableProof config = prove({"NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE", "0"},
                               info("Comm config nvlinkCentricSched set to 1"));
  CHECK(config.effect == Effect::overridden);
  CHECK(config.line == "Comm config nvlinkCentricSched set to 1");
}

TEST_CASE("a value that NCCL read but does not document is not said to have taken effect") {
  VariableProof proof =
      prove({"NCCL_MAX_CTAS", "4096"}, info("NCCL_MAX_CTAS set by environment to 4096."));
  CHECK(proof.effect == Effect::not_known);
  CHECK(id_of(proof.reason) == "outside_documented_values");
  CHECK(proof.line == "NCCL_MAX_CTAS set by environment to 4096.");

  VariableProof config =
      prove({"NCCL_MAX_CTAS", "4096"}, info("NCCL_MAX_CTAS set by environment to 4096.") +
                                           info("Comm config maxCTAs set to 8"));
  CHECK(config.effect == Effect::overridden);
  CHECK(config.line == "Comm config maxCTAs set to 8");
}

TEST_CASE("text where NCCL expects a number is called so") {
  VariableProof proof =
      prove({"NCCL_P2P_DISABLE", "yes"}, info("NCCL_P2P_DISABLE set by environment to 0."));
  CHECK(proof.effect == Effect::not_a_number);
  REQUIRE(id_of(proof.reason) == "read_other_value");
  CHECK(proof.reason->values == Object{{"value", "0"}});
  CHECK_FALSE(proof.line.empty());
}

TEST_CASE("names that NCCL does not know have the nearest, or what replaced them") {
  VariableProof unknown = prove({"NCCL_BUFSIZE", "1"}, "");
  CHECK(unknown.effect == Effect::unknown_name);
  CHECK(id_of(unknown.reason) == "similar_name");
  CHECK(in_words(unknown.reason) == "NCCL's name is NCCL_BUFFSIZE");
  VariableProof retired = prove({"NCCL_TREE_THRESHOLD", "1"}, "");
  CHECK(retired.effect == Effect::ignored);
  CHECK(id_of(retired.reason) == "not_read");
  CHECK_THAT(in_words(retired.reason), ContainsSubstring("NCCL_ALGO"));
}

TEST_CASE("what was never read belongs to a path that was not taken") {
  CHECK(prove({"NCCL_IB_TC", "106"}, "").effect == Effect::path_not_taken);
  CHECK(id_of(prove({"NCCL_IB_TC", "106"}, "").reason) == "one_node");
  CHECK(id_of(prove({"NCCL_CHUNK_SIZE", "65536"}, "").reason) == "not_reached");
  // Read while searching networks, but none was used.
  VariableProof read =
      prove({"NCCL_IB_DISABLE", "1"}, info("NCCL_IB_DISABLE set by environment to 1."));
  CHECK(read.effect == Effect::path_not_taken);
  CHECK_FALSE(read.line.empty());
  VariableProof used = prove({"NCCL_IB_DISABLE", "1"},
                             info("NCCL_IB_DISABLE set by environment to 1.") +
                                 info("Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0"));
  CHECK(used.effect == Effect::took_effect);
}

TEST_CASE("a level that is no level is ignored, and what NCCL never logs is not known") {
  CHECK(prove({"NCCL_P2P_LEVEL", "nvl"}, "").effect == Effect::ignored);
  CHECK(id_of(prove({"NCCL_P2P_LEVEL", "nvl"}, "").reason) == "misread");
  CHECK(prove({"NCCL_TOPO_FILE", "x.xml"}, "").effect == Effect::not_known);
  CHECK(prove_variable({"NCCL_MAX_CTAS", "4"}, NcclLog{}, "nvidia").effect == Effect::not_known);
}

TEST_CASE("another backend's variables are read or ignored") {
  NcclLog log = read_nccl_log("NCCLPROBE_GLOO_ALGORITHM set by environment to ring\n");
  CHECK(prove_variable({"NCCLPROBE_GLOO_ALGORITHM", "ring"}, log, "host").effect ==
        Effect::took_effect);
  CHECK(prove_variable({"NCCL_ALGO", "Ring"}, log, "host").effect == Effect::ignored);
}

TEST_CASE("calls that do not obey show that something else had the last word") {
  model::TrialSpec spec;
  spec.cells.emplace_back();
  CellProof cell;
  cell.by_rank[0] = {{"NVLS_TREE", "SIMPLE", 16}};
  NcclLog log = read_nccl_log(info("TUNER/Plugin: Using tuner plugin example"));

  VariableProof obeyed{{"NCCL_ALGO", "NVLSTree"}, Effect::not_known, {}, {}, {}};
  check_choices(obeyed, log, spec, {cell}, 0);
  CHECK(obeyed.effect == Effect::took_effect);

  VariableProof broken{{"NCCL_PROTO", "LL"}, Effect::took_effect, {}, {}, {}};
  check_choices(broken, log, spec, {cell}, 0);
  CHECK(broken.effect == Effect::overridden);
  CHECK(id_of(broken.reason) == "tuner_used_other");
  CHECK_THAT(in_words(broken.reason),
             ContainsSubstring("AllReduce used SIMPLE anyway; a tuner plugin"));
}

TEST_CASE("a variable was removed if NCCL read none") {
  const model::Setting removal{"NCCL_MAX_CTAS", "(not set)"};
  CHECK(prove(removal, "").effect == Effect::took_effect);
  const std::string line = "NCCL_MAX_CTAS set by environment to 4.";
  CHECK(prove(removal, info(line)).effect == Effect::overridden);
  CHECK(prove(removal, info(line)).line == line);
}
