// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/named_node.h"
#include "analysis/report/written.h"
#include "analysis/suitability/wheel_question.h"
#include "support/catch.h"

namespace ncclprobe::analysis {
namespace {

WheelVerdict verdict(const std::string& wheel, NodeInQuestion node) {
  return judge_wheel(base::value_or_throw(parse_wheel_spec(wheel)), {std::move(node)}).at(0);
}

WheelVerdict verdict(const std::string& wheel, const std::string& gpu) {
  return verdict(wheel, analysis_test::node_named(gpu));
}

std::vector<std::string> instead(const WheelVerdict& one) {
  std::vector<std::string> names;
  for (const WheelToTake& take : one.instead)
    names.push_back(take.wheel);
  return names;
}

NodeInQuestion with_driver(const std::string& gpu, const std::string& driver) {
  NodeInQuestion node = analysis_test::node_named(gpu);
  node.is_named = false;
  node.driver = base::value_or_throw(knowledge::parse_version(driver));
  return node;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("a wheel without code for the GPU says why, and which wheel has it") {
  WheelVerdict one = verdict("torch==2.8+cu128", "GTX 1080");

  CHECK(one.runs == Known::no);
  CHECK_THAT(one.why, ContainsSubstring("it has no code for sm_61: all code is for newer GPUs"));
  CHECK(instead(one) == Names{"torch==2.8.0+cu126", "torch==2.14.0+cu126"});
  CHECK(one.instead[0].command ==
        "pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/cu126");
  CHECK(one.instead[1].newest);

  one = verdict("torch==2.6.0+cu124", "RTX 5090");
  CHECK_THAT(one.why, ContainsSubstring("all code is for older GPUs"));
  CHECK(instead(one) == Names{"torch==2.14.0+cu132"}); // 2.6 has none at all for it
}

TEST_CASE("a wheel that runs says by which code, and the driver that it needs") {
  WheelVerdict one = verdict("torch==2.8.0+cu128", "RTX 4090");
  CHECK(one.runs == Known::yes);
  CHECK(one.why == "it runs its sm_86 code");
  CHECK(one.cautions.front() == "it needs driver 525.60.13 or newer");
  CHECK(one.instead.empty());

  one = verdict("torch==2.8.0+cu126", "GTX 1080");
  CHECK(one.why == "it runs its sm_60 code");
  CHECK(one.cautions ==
        Names{"it needs driver 525.60.13 or newer, up to branch 580, the last for this GPU"});
  CHECK(verdict("torch==2.8.0+cu128", "RTX 5090").cautions.front() ==
        "it needs driver 570 or newer"); // its own first branch
}

TEST_CASE("without a tag the wheel is the one that PyPI has") {
  CHECK(verdict("torch==2.8", "GTX 1080").runs == Known::no);    // cu128
  CHECK(verdict("torch==2.7.1", "GTX 1080").runs == Known::yes); // cu126
  WheelVerdict arm = verdict("torch==2.8", "GH200");
  CHECK(arm.runs == Known::no);
  CHECK(arm.why == "PyPI's wheel for Arm is built without CUDA");
  CHECK(instead(arm) == Names{"torch==2.8.0+cu129", "torch==2.14.0+cu132"});
  CHECK(verdict("torch==2.11", "GH200").runs == Known::yes); // cu130 for both CPUs
}

TEST_CASE("where it is not known what PyPI has, the tag matters only if wheels differ") {
  CHECK(verdict("torch==2.3", "A100").runs == Known::yes); // cu118 and cu121
  CHECK(verdict("torch==2.3", "RTX 5090").runs == Known::no);
  WheelVerdict kepler = verdict("torch==2.3", "Tesla K80"); // cu118 alone has code for it
  CHECK(kepler.runs == Known::unknown);
  CHECK_THAT(kepler.why, ContainsSubstring("which of cu118, cu121 PyPI has"));
  CHECK(instead(kepler).front() == "torch==2.3.0+cu118");
}

TEST_CASE("wheels that are not for NVIDIA's GPUs do not run there") {
  CHECK_THAT(verdict("torch==2.8+cpu", "T4").why, ContainsSubstring("without CUDA"));
  CHECK_THAT(verdict("torch==2.8+rocm6.4", "T4").why,
             ContainsSubstring("AMD") && ContainsSubstring("RCCL"));
  CHECK_THAT(verdict("torch==2.8+xpu", "T4").why, ContainsSubstring("Intel"));
  for (const char* wheel : {"torch==2.8+cpu", "torch==2.8+rocm6.4", "torch==2.8+xpu"}) {
    INFO(wheel);
    CHECK(verdict(wheel, "T4").runs == Known::no);
    CHECK(instead(verdict(wheel, "T4")).front() == "torch==2.8.0+cu128");
  }
}

TEST_CASE("what the tables do not have is no or unknown, never yes") {
  WheelVerdict gone = verdict("torch==2.8+cu118", "V100");
  CHECK(gone.runs == Known::no);
  CHECK(gone.why == "PyTorch 2.8 has no wheel cu118 for x86-64, only cu126, cu128, cu129");
  WheelVerdict arm = verdict("torch==2.8+cu128", "GH200");
  CHECK(arm.runs == Known::no);
  CHECK(arm.why == "PyTorch 2.8 has no wheel cu128 for Arm, only cu129");
  CHECK(verdict("torch==9.9", "V100").runs == Known::unknown);
  WheelVerdict nightly = verdict("torch==2.10.0.dev20251001+cu128", "V100");
  CHECK(nightly.runs == Known::unknown);
  CHECK_THAT(nightly.why, ContainsSubstring("pre-releases are not in the tables"));
}

TEST_CASE("modules of Jetson get their PyTorch from JetPack, Thor from PyTorch") {
  WheelVerdict orin = verdict("torch==2.9+cu130", "AGX Orin");
  CHECK(orin.runs == Known::unknown);
  CHECK_THAT(orin.why, ContainsSubstring("JetPack"));
  CHECK(orin.instead.empty());
  CHECK(verdict("torch==2.9+cu130", "Jetson Thor").runs == Known::yes);
}

TEST_CASE("an installed driver that is too old for the wheel's CUDA is a no with its ways out") {
  WheelVerdict one = verdict("torch==2.5.1+cu121", with_driver("A800-SXM4-80GB", "470.129.06"));

  CHECK(one.runs == Known::no);
  CHECK_THAT(one.why, ContainsSubstring("driver 470.129.06") && ContainsSubstring("525.60.13"));
  REQUIRE(one.cautions.size() == 1);
  CHECK_THAT(one.cautions[0],
             ContainsSubstring("CUDA 11.8 or older") && ContainsSubstring("cuda-compat-12-1"));
  CHECK(instead(one).front() == "torch==2.5.1+cu118");
  CHECK(verdict("torch==2.5.1+cu118", with_driver("A800-SXM4-80GB", "470.129.06")).runs ==
        Known::yes);
}

TEST_CASE("a fault of the NCCL that comes with the wheel is named where it shows") {
  auto faults = [](const char* gpu) {
    std::string all;
    for (const std::string& one : verdict("torch==2.1+cu121", gpu).cautions)
      all += one + "\n";
    return all;
  };
  CHECK_THAT(faults("H100"),
             ContainsSubstring("it brings NCCL 2.18.1, which can give wrong data: "));
  CHECK_THAT(faults("A100"), !ContainsSubstring("2.18.1"));
}

TEST_CASE("of several GPUs each is judged, and the worst counts") {
  auto wheel = base::value_or_throw(parse_wheel_spec("torch==2.8+cu128"));
  auto verdicts = judge_wheel(wheel, {analysis_test::node_named("RTX 4090"),
                                      analysis_test::node_named("AGX Orin"),
                                      analysis_test::node_named("GTX 1080")});

  REQUIRE(verdicts.size() == 3);
  CHECK(worst(verdicts) == Known::no);
  CHECK(worst({verdicts[0], verdicts[1]}) == Known::unknown);
  CHECK(worst({verdicts[0]}) == Known::yes);
  const Report report = wheel_report(wheel, verdicts);
  const std::string text = analysis_test::text_of(report);
  CHECK_THAT(text, ContainsSubstring("Runs           RTX 4090 (8.9)") &&
                       ContainsSubstring("Unknown        AGX Orin (8.7)") &&
                       ContainsSubstring("Fails          GTX 1080 (6.1)") &&
                       ContainsSubstring("  take         pip install torch==2.8.0"));
  const auto json = analysis_test::json_of(report);
  CHECK(json["runs"] == "no");
  CHECK(json["gpus"][0]["runs"] == "yes");
  CHECK(json["gpus"][2]["instead"][0]["wheel"] == "torch==2.8.0+cu126");
}

TEST_CASE("the answer says what PyPI has where no tag was given") {
  auto told = [](const char* wheel, const std::vector<NodeInQuestion>& nodes) {
    auto spec = base::value_or_throw(parse_wheel_spec(wheel));
    std::string text = analysis_test::text_of(wheel_report(spec, judge_wheel(spec, nodes)));
    return text.substr(0, text.find('\n'));
  };
  CHECK(told("torch==2.8", {analysis_test::node_named("T4")}) ==
        "Wheel          torch==2.8; PyPI has cu128 for x86-64");
  CHECK(told("torch==2.8", {analysis_test::node_named("T4"), analysis_test::node_named("GH200")}) ==
        "Wheel          torch==2.8; PyPI has cu128 for x86-64 and one without CUDA for Arm");
  CHECK(told("torch==2.8+cu126", {analysis_test::node_named("T4")}) ==
        "Wheel          torch==2.8+cu126");
}

} // namespace ncclprobe::analysis
