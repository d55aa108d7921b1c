// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/named_node.h"
#include "analysis/report/written.h"
#include "analysis/suitability/common_stack.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;

namespace {

NodeInQuestion with_driver(const std::string& gpu, const std::string& driver) {
  NodeInQuestion node = analysis_test::node_named(gpu);
  node.name = "node of " + gpu;
  node.driver = base::value_or_throw(knowledge::parse_version(driver));
  return node;
}

} // namespace

TEST_CASE("one GPU by itself runs what the tables have for it") {
  CommonStack stack = common_stack({analysis_test::node_named("H200")});

  CHECK(stack.all.newest_cuda == stack.nodes[0].newest_cuda);
  CHECK(stack.all.first_cuda->text() == "11.8");
  CHECK(stack.all.least_driver_branch->text() == "520");
  CHECK(stack.held_back_by.empty());
}

TEST_CASE("what one GPU has lost and another not yet got leaves little that both run") {
  // V100: last CUDA is 12.9. RTX 5090: first is 12.8.
  CommonStack stack =
      common_stack({analysis_test::node_named("V100"), analysis_test::node_named("RTX 5090")});

  CHECK(stack.all.first_cuda->text() == "12.8");
  CHECK(stack.all.newest_cuda->text() == "12.9");
  CHECK(stack.all.least_driver_branch->text() == "570");
  REQUIRE(stack.all.newest_wheel != nullptr);
  for (const char* gpu : {"V100", "RTX 5090"}) {
    auto capability = analysis_test::node_named(gpu).gpus[0].capability;
    const auto& wheel = *stack.all.newest_wheel;
    CHECK(knowledge::judge_code(capability, wheel.cubins, wheel.ptx).verdict !=
          knowledge::CodeVerdict::none);
  }
  CHECK(stack.held_back_by == std::vector<std::string>{"V100", "RTX 5090"});
  CHECK(stack.full_driver);
  CHECK(stack.least_driver->text() == "570"); // CUDA 12 runs from 525.60.13 on, RTX 5090 from 570
}

TEST_CASE("the oldest driver is CUDA's where that knows all GPUs") {
  CommonStack stack =
      common_stack({analysis_test::node_named("V100"), analysis_test::node_named("T4")});

  CHECK(stack.all.newest_cuda->text() == "12.9");
  CHECK(stack.least_driver->text() == "525.60.13");
}

TEST_CASE("GPUs that no toolkit serves together are said to have none") {
  // V100: last CUDA is 12.9. Thor: first is 13.0.
  CommonStack stack =
      common_stack({analysis_test::node_named("V100"), analysis_test::node_named("sm_110")});

  CHECK(stack.nodes[0].newest_cuda);
  CHECK(stack.nodes[1].newest_cuda);
  CHECK_FALSE(stack.all.newest_cuda);
  CHECK(stack.all.problem == "no CUDA toolkit in the tables supports all");
  CHECK_FALSE(stack.least_driver);
}

TEST_CASE("with a GPU whose first toolkit is not known, the common ones are not either") {
  CommonStack stack =
      common_stack({analysis_test::node_named("sm_37"), analysis_test::node_named("H200")});

  CHECK_FALSE(stack.all.newest_cuda);
  CHECK_THAT(stack.all.problem, ContainsSubstring("unknown"));
  CHECK_FALSE(stack.all.least_driver_branch);
}

TEST_CASE("an installed driver limits what its node, and so all, can run") {
  CommonStack free = common_stack(
      {analysis_test::node_named("H200"), analysis_test::node_named("A100-SXM4-80GB")});
  CommonStack bound = common_stack(
      {analysis_test::node_named("H200"), with_driver("A100-SXM4-80GB", "470.129.06")});

  CHECK(free.all.newest_cuda->major() >= 13);
  CHECK(bound.all.newest_cuda->text() == "11.8"); // runs by minor compatibility
  CHECK(bound.held_back_by == std::vector<std::string>{"node of A100-SXM4-80GB"});
  REQUIRE(bound.all.newest_wheel != nullptr);
  CHECK(bound.all.newest_wheel->cuda_tag == "cu118");
}

TEST_CASE("nodes held back by each other's lacks alone are not blamed one by one") {
  CommonStack stack =
      common_stack({analysis_test::node_named("V100"), analysis_test::node_named("V100"),
                    analysis_test::node_named("H200")});

  CHECK(stack.held_back_by.empty()); // without either V100 the other is still there
}

TEST_CASE("the common stack is told in text and JSON") {
  CommonStack stack =
      common_stack({analysis_test::node_named("V100"), with_driver("H200", "535.129.03")});

  const Report report = common_stack_report(stack);
  const std::string text = analysis_test::text_of(report);
  const auto json = analysis_test::json_of(report, "common_stack");

  CHECK_THAT(text, ContainsSubstring("Newest software that all of these GPUs run") &&
                       ContainsSubstring("535.129.03") && ContainsSubstring("11.8 to 12.9"));
  CHECK(json["newest_cuda"] == "12.9");
  CHECK(json["nodes"].size() == 2);
  CHECK(json["nodes"][0]["driver"].is_null());
}

TEST_CASE("a driver branch that is the last for one GPU bounds all") {
  CommonStack stack =
      common_stack({analysis_test::node_named("V100"), analysis_test::node_named("RTX 5090")});

  CHECK(stack.all.least_driver_branch->text() == "570");
  CHECK(stack.all.last_driver_branch->text() == "580");
  CHECK_THAT(analysis_test::text_of(common_stack_report(stack)), ContainsSubstring("580"));
  CHECK_FALSE(
      common_stack({analysis_test::node_named("H200"), analysis_test::node_named("RTX 5090")})
          .all.last_driver_branch);
}

TEST_CASE("GPUs that no driver branch serves together are said to have none") {
  // K80: branch 470 is the last. H200: 520 is the first.
  CommonStack stack =
      common_stack({analysis_test::node_named("K80"), analysis_test::node_named("H200")});

  CHECK(stack.all.no_common_branch);
  CHECK_FALSE(stack.least_driver);
  CHECK_THAT(analysis_test::text_of(common_stack_report(stack)),
             ContainsSubstring("up to r470") &&
                 ContainsSubstring("no driver branch supports all of these GPUs"));
}

TEST_CASE("nodes with Arm CPUs are given wheels that are made for Arm too") {
  CommonStack thor =
      common_stack({analysis_test::node_named("Thor")}); // no wheel for x86-64 has code for it
  REQUIRE(thor.all.newest_wheel != nullptr);
  CHECK(thor.all.newest_wheel->name() == "2.14+cu132");

  CommonStack both =
      common_stack({analysis_test::node_named("GH200"), analysis_test::node_named("V100")});
  REQUIRE(both.all.newest_wheel != nullptr);
  const knowledge::PytorchWheel& wheel = *both.all.newest_wheel;
  CHECK(knowledge::pytorch_wheel(wheel.torch, wheel.cuda_tag, knowledge::CpuKind::aarch64));
  CHECK(knowledge::pytorch_wheel(wheel.torch, wheel.cuda_tag, knowledge::CpuKind::x86_64));
}
