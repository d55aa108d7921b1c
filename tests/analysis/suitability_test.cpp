// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

GpuInQuestion asked(const std::string& text) {
  return base::value_or_throw(gpu_in_question(text));
}

// Without the breaks of its lines.
std::string explained(const std::string& text, const Prices& prices = {}) {
  std::string words;
  for (char c : explain_gpu(asked(text), {}, prices))
    if ((c != ' ' && c != '\n') || words.empty() || words.back() != ' ')
      words += c == '\n' ? ' ' : c;
  return words;
}

Known chain(const std::vector<ChainVerdict>& all, const std::string& feature) {
  for (const ChainVerdict& one : all)
    if (one.chain->feature == feature)
      return one.all;
  throw std::logic_error("no chain " + feature);
}

} // namespace

TEST_CASE("a model, a driver's name and both forms of a capability can be asked for") {
  CHECK(asked("T4").capability == knowledge::ComputeCapability{7, 5});
  CHECK(asked("NVIDIA A100-SXM4-80GB").models.front()->name == "A100 SXM4 80GB");
  CHECK(asked("sm_89").capability == asked("8.9").capability);
  CHECK(asked("8.9").models.size() >= 3);
}

TEST_CASE("an unknown model is refused with near names") {
  CHECK_THAT(gpu_in_question("RTX 4091").error().text(), ContainsSubstring("such as"));
  CHECK_THAT(gpu_in_question("A1008").error().text(), ContainsSubstring("such as"));
  CHECK_THAT(gpu_in_question("H 200 XL").error().text(), ContainsSubstring("H200"));
  CHECK_FALSE(gpu_in_question("7.7"));
}

TEST_CASE("each generation has a grade, with reasons") {
  auto grade = [](const char* gpu) { return suitability(asked(gpu).capability).grade; };
  for (const char* gpu : {"B200", "RTX 5090", "H100", "RTX 4090", "A100", "RTX 3090"}) {
    INFO(gpu);
    CHECK(grade(gpu) == Suited::full);
  }
  CHECK(grade("T4") == Suited::limited);
  CHECK(grade("V100") == Suited::limited);
  CHECK(grade("GTX 1080") == Suited::outdated);
  CHECK_THAT(explained("B200"), ContainsSubstring("Suited full: BF16, TF32, FP8 and FP4"));
  CHECK_THAT(explained("RTX 4090"), ContainsSubstring("Suited full: BF16, TF32 and FP8"));
  CHECK_THAT(explained("V100"), ContainsSubstring("Suited limited: tensor cores without BF16") &&
                                    ContainsSubstring("has no code for it in") &&
                                    ContainsSubstring("12.9 is the last that compiles for it"));
}

TEST_CASE("the five dimensions of a T4 are there, and the right CUDA") {
  std::string text = explained("T4");

  CHECK_THAT(text, ContainsSubstring("7.5 (sm_75), Turing"));
  CHECK_THAT(text, ContainsSubstring("TF32 no"));
  CHECK_THAT(text, ContainsSubstring("16 GB, 320 GB/s"));
  CHECK_THAT(text, ContainsSubstring("no NVLink"));
  CHECK_THAT(text, ContainsSubstring("70 W"));
  CHECK_THAT(text, ContainsSubstring("not given"));
  CHECK_THAT(text, ContainsSubstring("from CUDA 10.0"));
}

TEST_CASE("prices are the user's, and are put in relation") {
  std::string text = explained("T4", {{"Tesla T4", 800}});

  CHECK_THAT(text, ContainsSubstring("50 per GB of memory"));
  CHECK_THAT(text, ContainsSubstring("2.5 per GB/s of memory"));
  CHECK_THAT(text, ContainsSubstring("50.79 per GB/s between GPUs"));
}

TEST_CASE("RTX 50 is sm_120, and its first wheel is 2.7 cu128") {
  std::string text = explained("RTX 5090");

  CHECK_THAT(text, ContainsSubstring("12.0 (sm_120)"));
  CHECK_THAT(text, ContainsSubstring("2.7+cu128"));
  CHECK_THAT(text, ContainsSubstring("driver branch r570"));
}

TEST_CASE("a feature chain is no if one link is, and unknown if none is no but one unknown") {
  SoftwareInQuestion software;
  CHECK(chain(judge_chains(asked("A100"), software), "NVLS all-reduce") == Known::no);
  CHECK(chain(judge_chains(asked("H200"), software), "NVLS all-reduce") == Known::unknown);
  CHECK(chain(judge_chains(asked("H200"), software), "bf16 reductions") == Known::unknown);
  software.nccl = knowledge::VersionNumber{{2, 28, 3}};
  CHECK(chain(judge_chains(asked("H200"), software), "bf16 reductions") == Known::yes);
  software.nccl = knowledge::VersionNumber{{2, 9, 6}};
  CHECK(chain(judge_chains(asked("H200"), software), "bf16 reductions") == Known::no);
}

TEST_CASE("what a GPU cannot do is no, whatever the software") {
  for (const char* gpu : {"T4", "A100", "L4"}) {
    CHECK(chain(judge_chains(asked(gpu), {}), "fp8 reductions") == Known::no);
    CHECK(chain(judge_chains(asked(gpu), {}), "multi-node NVLink") == Known::no);
  }
  SoftwareInQuestion software;
  software.nccl = knowledge::VersionNumber{{2, 28, 9}};
  CHECK(chain(judge_chains(asked("H200"), software), "fp8 reductions") == Known::yes);
}

TEST_CASE("the CUDA that NCCL was built with is a link of its own") {
  SoftwareInQuestion software;
  software.nccl = knowledge::VersionNumber{{2, 28, 9}};
  auto build = [&] {
    for (const ChainVerdict& one : judge_chains(asked("H200"), software))
      for (std::size_t i = 0; i < one.links.size(); ++i)
        if (one.chain->links[i].needs == "nccl_build")
          return one.links[i];
    throw std::logic_error("no link of the build");
  };
  CHECK(build() == Known::unknown);
  software.nccl_cuda = knowledge::VersionNumber{{13, 0}};
  CHECK(build() == Known::yes);
  software.nccl_cuda = knowledge::VersionNumber{{11, 8}};
  CHECK(build() == Known::no);
}

TEST_CASE("what is not sourced is called unknown") {
  CHECK_THAT(explained("A10G"), ContainsSubstring("NVLink unknown"));
}

TEST_CASE("the JSON has null for what is unknown") {
  auto json = nlohmann::json::parse(
      explain_gpus_json({{asked("A10G"), {}}, {asked("H200"), {}}}, {}, nlohmann::json::object()));

  CHECK(json["gpus"][0]["models"][0]["memory_gb"].is_null());
  CHECK(json["gpus"][1]["compute_capability"] == "9.0");
  CHECK(json["gpus"][1]["features"]["fp8"] == "yes");
  CHECK(json["tables_date"].get<std::string>().size() == 10);
}

TEST_CASE("the JSON judges each GPU with the software of its own node") {
  SoftwareInQuestion old, newer;
  old.nccl = knowledge::VersionNumber{{2, 9, 6}};
  newer.nccl = knowledge::VersionNumber{{2, 28, 3}};

  auto json = nlohmann::json::parse(explain_gpus_json(
      {{asked("A100"), old}, {asked("H200"), newer}}, {}, nlohmann::json::object()));

  auto bf16 = [&](std::size_t gpu) -> std::string {
    for (const auto& one : json["gpus"][gpu]["chains"])
      if (one["feature"] == "bf16 reductions")
        return one["verdict"];
    return "";
  };
  CHECK(bf16(0) == "no");
  CHECK(bf16(1) == "yes");
}

} // namespace ncclprobe::analysis
