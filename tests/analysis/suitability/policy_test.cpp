// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/named_node.h"
#include "analysis/report/written.h"
#include "analysis/suitability/policy.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;

namespace {

// As a host with one such GPU is.
NodeInQuestion seen(const std::string& gpu, double memory_gb, int nvlinks, int count = 1) {
  NodeInQuestion node = analysis_test::node_named(gpu);
  node.name = "alpha";
  node.is_named = false;
  node.gpus[0].memory_gb = memory_gb;
  node.gpus[0].nvlinks = nvlinks;
  node.gpus[0].count = count;
  return node;
}

Known suits(const Policy& policy, const NodeInQuestion& node, const Prices& prices = {}) {
  return judge(policy, node, prices).suits;
}

Policy with(knowledge::VersionNumber capability) {
  Policy policy;
  policy.min_compute_capability = capability;
  return policy;
}

} // namespace

TEST_CASE("compute capability is held against the policy's, not against one of ours") {
  CHECK(suits(with({{8, 0}}), analysis_test::node_named("A100-SXM4-80GB")) == Known::yes);
  CHECK(suits(with({{8, 0}}), analysis_test::node_named("T4")) == Known::no);
  CHECK(suits(with({{7, 5}}), analysis_test::node_named("T4")) == Known::yes);
  CHECK(suits(with({{10, 0}}), analysis_test::node_named("H200")) ==
        Known::no); // 10 is more than 9
}

TEST_CASE("memory is what the driver reports less what connecting was measured to take") {
  Policy policy;
  policy.min_memory_gb = 40;
  NodeInQuestion node = seen("H200", 40.5, 18);
  CHECK(suits(policy, node) == Known::yes);

  node.nccl = NcclFootprint{0.6, 8};

  PolicyVerdict verdict = judge(policy, node, {});
  CHECK(verdict.suits == Known::no);
  CHECK_THAT(verdict.parts[0].rules[0].found,
             ContainsSubstring("39.9 GB: 40.5 less 0.6 for connecting 8 ranks with NCCL") &&
                 ContainsSubstring("the first collectives take more"));
}

TEST_CASE("of a GPU that is only named, memory is what is published, if that is clear") {
  Policy policy;
  policy.min_memory_gb = 24;

  CHECK(suits(policy, analysis_test::node_named("RTX 4090")) == Known::yes);
  CHECK(suits(policy, analysis_test::node_named("T4")) == Known::no);
  CHECK(suits(policy, analysis_test::node_named("sm_80")) ==
        Known::unknown); // models of 40 and 80 GB
}

TEST_CASE("NVLink is asked of what is up, else of what the model has") {
  Policy policy;
  policy.interconnect = LinkKind::nvlink;

  CHECK(suits(policy, analysis_test::node_named("H200")) == Known::yes);
  CHECK(suits(policy, seen("H200", 141, 0)) == Known::no);
  CHECK(suits(policy, analysis_test::node_named("T4")) == Known::no);
  policy.interconnect = LinkKind::pcie;
  CHECK(suits(policy, analysis_test::node_named("T4")) == Known::yes);
}

TEST_CASE("the rate between GPUs is that of the NVLinks that are up, or of PCIe") {
  Policy policy;
  policy.min_link_gb_per_s = 400;

  CHECK(suits(policy, seen("H200", 141, 18)) == Known::yes); // 18 x 25 GB/s
  CHECK(suits(policy, seen("H200", 141, 12)) == Known::no);
  CHECK(suits(policy, analysis_test::node_named("T4")) == Known::no);
}

TEST_CASE("a bridge that may be fitted or not is neither NVLink nor none") {
  Policy policy;
  policy.interconnect = LinkKind::nvlink;
  for (const char* gpu : {"A100 PCIe", "A40", "A30", "H100 PCIe", "H100 NVL", "H200 NVL",
                          "RTX A6000", "RTX 3090", "Quadro RTX 8000", "RTX 2080 Ti"}) {
    INFO(gpu);
    PolicyVerdict verdict = judge(policy, analysis_test::node_named(gpu), {});
    CHECK(verdict.suits == Known::unknown);
    CHECK_THAT(verdict.parts[0].rules[0].found,
               ContainsSubstring("bridged GPUs, if a bridge is installed"));
  }
  policy.interconnect = LinkKind::pcie;
  CHECK(suits(policy, analysis_test::node_named("A100 PCIe")) == Known::yes);
}

TEST_CASE("what is unknown of the link between GPUs comes with its reason") {
  Policy policy;
  policy.interconnect = LinkKind::nvlink;
  policy.min_link_gb_per_s = 200;
  for (const auto& [gpu, reason] : {std::pair{"V100", "only some of its possible models"},
                                    std::pair{"T10", "not in the tables"}}) {
    INFO(gpu);
    const PolicyVerdict verdict = judge(policy, analysis_test::node_named(gpu), {});
    CHECK(verdict.suits == Known::unknown);
    for (const PolicyRule& rule : verdict.parts[0].rules)
      CHECK_THAT(rule.found, ContainsSubstring(reason));
  }
}

TEST_CASE("a chip without PCIe and NVLink is linked to no other GPU") {
  Policy policy;
  policy.min_link_gb_per_s = 1;
  for (LinkKind asked : {LinkKind::pcie, LinkKind::nvlink})
    for (const char* gpu : {"GB10", "Jetson AGX Orin", "Jetson Thor"}) {
      INFO(gpu);
      policy.interconnect = asked;
      const PolicyVerdict verdict = judge(policy, analysis_test::node_named(gpu), {});
      for (const PolicyRule& rule : verdict.parts[0].rules) {
        CHECK(rule.met == Known::no);
        CHECK(rule.found == "neither NVLink nor PCIe to another GPU");
      }
    }
}

TEST_CASE("what a bridge carries counts only where one is known to be fitted") {
  Policy policy;
  auto rate = [&](double least, const NodeInQuestion& node) {
    policy.min_link_gb_per_s = least;
    return judge(policy, node, {}).parts[0].rules[0];
  };
  const PolicyRule a100 = rate(200, analysis_test::node_named("A100 PCIe"));
  CHECK(a100.met == Known::unknown);
  CHECK(a100.found ==
        "up to 300 GB/s between 2 bridged GPUs, if a bridge is installed, else 31.5 GB/s "
        "over PCIe");
  CHECK(rate(31, analysis_test::node_named("A100 PCIe")).met == Known::yes); // PCIe is enough
  CHECK(rate(301, analysis_test::node_named("A100 PCIe")).met == Known::no); // no bridge would be
  CHECK(rate(200, analysis_test::node_named("RTX 3090")).met == Known::no);
  CHECK(rate(50, analysis_test::node_named("RTX 3090")).met == Known::unknown);
  CHECK_THAT(rate(200, analysis_test::node_named("A100")).found,
             ContainsSubstring("some of its possible models"));
  // For existing GPUs, the active links decide.
  CHECK(rate(200, seen("A100 PCIe 80GB", 80, 12, 2)).met == Known::yes);
  CHECK(rate(200, seen("A100 PCIe 80GB", 80, 0, 2)).met == Known::no);
  CHECK(rate(30, seen("A100 PCIe 80GB", 80, 0, 2)).met == Known::yes);
}

TEST_CASE("a bridge between two of four GPUs leaves the others on PCIe") {
  Policy policy;
  policy.interconnect = LinkKind::nvlink;
  policy.min_link_gb_per_s = 200;
  PolicyVerdict verdict = judge(policy, seen("A100 PCIe 80GB", 80, 12, 4), {});

  REQUIRE(verdict.parts[0].rules.size() == 2);
  CHECK(verdict.parts[0].rules[0].met == Known::unknown);
  CHECK(verdict.parts[0].rules[0].found ==
        "NVLink 300 GB/s between bridged GPUs, 2 of the 4; PCIe to the others");
  CHECK(verdict.parts[0].rules[1].met == Known::no);
  CHECK(suits(policy, seen("H200 NVL", 141, 18, 4)) == Known::yes); // its bridge joins four
  CHECK(suits(policy, seen("H200", 141, 18, 8)) == Known::yes);     // a switch joins all
}

TEST_CASE("multicast is missing where there is no NVLink") {
  Policy policy;
  policy.features = {"multicast"};

  CHECK(suits(policy, analysis_test::node_named("RTX 5090")) == Known::no);
  CHECK(suits(policy, analysis_test::node_named("H200 SXM5")) == Known::yes);
}

TEST_CASE("features, power and price are asked of each GPU") {
  Policy policy;
  policy.features = {"bf16", "fp8"};
  CHECK(suits(policy, analysis_test::node_named("H200")) == Known::yes);
  CHECK(suits(policy, analysis_test::node_named("A100-SXM4-80GB")) == Known::no);

  policy = {};
  policy.max_power_w = 100;
  CHECK(suits(policy, analysis_test::node_named("T4")) == Known::yes);
  CHECK(suits(policy, analysis_test::node_named("A100-SXM4-80GB")) == Known::no);

  policy = {};
  policy.max_price = 1000;
  CHECK(suits(policy, analysis_test::node_named("T4")) == Known::unknown);
  CHECK(suits(policy, analysis_test::node_named("T4"), {{"T4", 800}}) == Known::yes);
}

TEST_CASE("how many GPUs there are, and whether alike, is asked of nodes only") {
  Policy policy;
  policy.min_gpus = 8;
  policy.same_gpus = true;

  CHECK(suits(policy, seen("H200", 141, 18, 8)) == Known::yes);
  CHECK(suits(policy, seen("H200", 141, 18, 4)) == Known::no);
  CHECK(suits(policy, analysis_test::node_named("H200")) == Known::unknown);
  NodeInQuestion mixed = seen("H200", 141, 18, 8);
  mixed.gpus.push_back(analysis_test::node_named("T4").gpus[0]);
  CHECK(suits(policy, mixed) == Known::no);
  policy.min_gpus.reset();
  CHECK(suits(policy, analysis_test::node_named("H200")) == Known::unknown);
}

TEST_CASE("the driver is asked for the newest CUDA that it knows") {
  Policy policy;
  policy.min_driver_cuda = knowledge::VersionNumber{{12, 4}};
  NodeInQuestion node = seen("H200", 141, 18);

  CHECK(suits(policy, node) == Known::unknown);
  node.software.driver_cuda = knowledge::VersionNumber{{12, 2}};
  CHECK(suits(policy, node) == Known::no);
  node.software.driver_cuda = knowledge::VersionNumber{{13, 0}};
  CHECK(suits(policy, node) == Known::yes);
}

TEST_CASE("one rule that is not met outweighs what is unknown") {
  Policy policy;
  policy.max_price = 1000;
  policy.min_compute_capability = knowledge::VersionNumber{{8, 0}};

  CHECK(suits(policy, analysis_test::node_named("T4")) == Known::no);
  CHECK(worst({{"a", Known::yes, {}}, {"b", Known::unknown, {}}}) == Known::unknown);
  CHECK(worst({{"a", Known::no, {}}, {"b", Known::unknown, {}}}) == Known::no);
}

TEST_CASE("a verdict says what was asked for and what was found") {
  Policy policy = with({{8, 0}});
  policy.name = "training";
  std::vector<PolicyVerdict> verdicts{judge(policy, analysis_test::node_named("T4"), {}),
                                      judge(policy, seen("H200", 141, 18, 8), {})};

  const Report report = policy_report(policy, verdicts);
  CHECK(analysis_test::text_of(report) == "Policy: training\n"
                                          "  T4: does not suit\n"
                                          "      NO       compute capability at least 8.0: 7.5\n"
                                          "  alpha: suits\n"
                                          "    8 x H200\n"
                                          "      yes      compute capability at least 8.0: 9.0\n");
  const auto json = analysis_test::json_of(report, "policy");
  CHECK(json["suits"] == "no");
  CHECK(json["nodes"][0]["parts"][0]["rules"][0]["found"] == "7.5");
  CHECK(written(report, Format::csv) ==
        "node,gpus,what,asked,found,met\r\n"
        "T4,T4,compute capability,at least 8.0,7.5,no\r\n"
        "alpha,8 x H200,compute capability,at least 8.0,9.0,yes\r\n");
}
