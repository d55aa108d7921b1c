// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/written.h"
#include "analysis/suitability/suitability.h"
#include "support/catch.h"

namespace ncclprobe::analysis {
namespace {

GpuInQuestion asked(const std::string& text) {
  return base::value_or_throw(gpu_in_question(text));
}

// Without the breaks of its lines.
std::string explained(const std::string& text, const Prices& prices = {}) {
  std::string words;
  for (char c : analysis_test::text_of(gpu_report({{asked(text), {}}}, prices)))
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
  auto told = [](const char* text) { return gpu_in_question(text).error().text(); };
  CHECK_THAT(told("RTX 4091"), ContainsSubstring("did you mean one of: GeForce RTX 4090"));
  CHECK_THAT(told("A1008"), ContainsSubstring("A100 SXM4 80GB"));
  CHECK_THAT(told("H 200 XL"), ContainsSubstring("H200"));
  CHECK_THAT(told("A30X"), ContainsSubstring("A30") && !ContainsSubstring("RTX 3060"));
  CHECK_THAT(told("Frobnicator"), ContainsSubstring("such as T4"));
  CHECK_FALSE(gpu_in_question("7.7"));
}

TEST_CASE("a name of several generations must be made plain, a wrong memory size is refused") {
  auto told = [](const char* text) { return gpu_in_question(text).error().text(); };
  CHECK_THAT(told("RTX 6000"), ContainsSubstring("Quadro RTX 6000 (7.5)") &&
                                   ContainsSubstring("RTX 6000 Ada Generation (8.9)") &&
                                   ContainsSubstring("say which one you mean"));
  CHECK_THAT(told("A100 20GB"),
             ContainsSubstring("does not exist with 20 GB, only with 40 GB, 80 GB"));
  CHECK(asked("NVIDIA GH200 480GB").models.size() == 1); // of its CPU, as the driver prints it
}

TEST_CASE("GPUs of others are refused with what serves them") {
  const base::Error amd = gpu_in_question("MI300X").error();
  CHECK(amd.code == base::Errc::invalid_argument);
  CHECK_THAT(amd.text(),
             ContainsSubstring("'MI300X' comes from AMD: ncclprobe is for NVIDIA GPUs") &&
                 ContainsSubstring("RCCL"));
  CHECK_THAT(gpu_in_question("Gaudi 3").error().text(), ContainsSubstring("Intel"));
}

TEST_CASE("a name that several cards have says what depends on which") {
  const std::string text = explained("RTX 3080");

  CHECK_THAT(text, ContainsSubstring("GeForce RTX 3080 10GB, GeForce RTX 3080 12GB"));
  CHECK_THAT(text, ContainsSubstring("10 GB, 760 GB/s (GeForce RTX 3080 10GB); 12 GB"));
  CHECK_THAT(explained("A100 80GB"), !ContainsSubstring("40GB"));
}

TEST_CASE("a GPU that comes with an Arm CPU is told of wheels for Arm") {
  for (const char* gpu : {"GH200", "GB200", "GB300", "GB10", "Thor"}) {
    INFO(gpu);
    CHECK(cpu_of(asked(gpu)) == knowledge::CpuKind::aarch64);
    CHECK_THAT(explained(gpu), ContainsSubstring("wheels for Arm with code for it from"));
  }
  CHECK_THAT(explained("GH200"), ContainsSubstring("from 2.6+cu126 to 2.14+cu132"));
  CHECK_THAT(explained("Thor"), ContainsSubstring("from 2.9+cu130 to"));
  CHECK_THAT(explained("H100"), !ContainsSubstring("Arm"));
  CHECK_THAT(explained("sm_90"),
             ContainsSubstring("on an Arm host wheels with code for it from")); // H100 or GH200
  CHECK_THAT(explained("AGX Orin"), ContainsSubstring("JetPack") && !ContainsSubstring("2.14+"));
}

TEST_CASE("old GPUs are told of the last driver branch and the last CUDA") {
  CHECK_THAT(explained("Tesla K80"),
             ContainsSubstring("to CUDA 11.8") || ContainsSubstring("11.8 is the last"));
  CHECK_THAT(explained("Tesla K80"), ContainsSubstring("r470, the last that supports it"));
  CHECK_THAT(explained("GTX 1080"), ContainsSubstring("r580, the last that supports it"));
  CHECK_THAT(explained("AGX Xavier"), ContainsSubstring("12.9 is the last that compiles for it"));
  CHECK_THAT(explained("T4"), !ContainsSubstring("the last that"));
}

TEST_CASE("releases of NCCL with faults on this GPU are named, others are not") {
  CHECK_THAT(explained("H100"),
             ContainsSubstring("NCCL up to 2.15.4 can hang: ring all-reduce of 2 "
                               "GPUs with LL128; take NCCL 2.15.5"));
  CHECK_THAT(explained("A100"), !ContainsSubstring("can hang: ring all-reduce"));
  CHECK_THAT(explained("GH200"), ContainsSubstring("NCCL 2.29.2 can hang: an Arm CPU"));
  CHECK_THAT(explained("H100"), !ContainsSubstring("2.29.2"));
  CHECK_THAT(explained("T4"), !ContainsSubstring("LL128")); // without NVLink it is not used
}

TEST_CASE("NVLS is no, not unknown, without NVLink") {
  SoftwareInQuestion software;
  for (const char* gpu : {"RTX 5090", "RTX PRO 6000 Server", "RTX 4090", "GB10"}) {
    INFO(gpu);
    CHECK(chain(judge_chains(asked(gpu), software), "NVLS all-reduce") == Known::no);
    CHECK(chain(judge_chains(asked(gpu), software), "multi-node NVLink") == Known::no);
    CHECK_THAT(explained(gpu), ContainsSubstring("multicast instructions (NVLS) no"));
  }
  GpuInQuestion h100 = asked("H100 PCIe");
  CHECK(chain(judge_chains(h100, software), "NVLS all-reduce") == Known::unknown);
  h100.nvlinks = 0; // no bridge is fitted
  CHECK(chain(judge_chains(h100, software), "NVLS all-reduce") == Known::no);
}

TEST_CASE("each generation has a grade, with reasons") {
  auto grade = [](const char* gpu) { return suitability(asked(gpu)).grade; };
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
  CHECK_THAT(explained("A100X"), ContainsSubstring("NVLink unknown"));
}

TEST_CASE("the JSON has null for what is unknown") {
  const auto json =
      analysis_test::json_of(gpu_report({{asked("A100X"), {}}, {asked("H200"), {}}}, {}));

  CHECK(json["gpus"][0]["models"][0]["nvlink"].is_null());
  CHECK(json["gpus"][1]["compute_capability"] == "9.0");
  CHECK(json["gpus"][1]["features"]["fp8"] == "yes");
  CHECK(json["tables_date"].get<std::string>().size() == 10);
}

TEST_CASE("the JSON judges each GPU with the software of its own node") {
  SoftwareInQuestion old, newer;
  old.nccl = knowledge::VersionNumber{{2, 9, 6}};
  newer.nccl = knowledge::VersionNumber{{2, 28, 3}};

  const auto json =
      analysis_test::json_of(gpu_report({{asked("A100"), old}, {asked("H200"), newer}}, {}));

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
