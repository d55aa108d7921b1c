// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/written.h"
#include "analysis/suitability/suitability.h"
#include "support/catch.h"

#include <algorithm>

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

// What machines read about one GPU.
nlohmann::json values_about(const std::string& text) {
  return analysis_test::json_of(gpu_report({{asked(text), {}}}, {}))["gpus"][0];
}

// The releases of NCCL with faults on this GPU: the last of each range.
std::vector<std::string> faulty_nccl(const std::string& text) {
  std::vector<std::string> last;
  for (const knowledge::KnownBadNccl* one : bad_nccl(asked(text)))
    last.push_back(one->until.text());
  return last;
}

std::vector<std::string> models_of(const GpuInQuestion& gpu) {
  std::vector<std::string> names;
  for (const knowledge::GpuModel* model : gpu.models)
    names.push_back(model->name);
  return names;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
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
  CHECK_THAT(told("RTX 4091"), ContainsSubstring("GeForce RTX 4090"));
  CHECK_THAT(told("A1008"), ContainsSubstring("A100 SXM4 80GB"));
  CHECK_THAT(told("H 200 XL"), ContainsSubstring("H200"));
  CHECK_THAT(told("A30X"), ContainsSubstring("A30") && !ContainsSubstring("RTX 3060"));
  CHECK_THAT(told("Frobnicator"), ContainsSubstring("such as T4"));
  CHECK_FALSE(gpu_in_question("7.7"));
}

TEST_CASE("a name of several generations must be made plain, a wrong memory size is refused") {
  auto told = [](const char* text) { return gpu_in_question(text).error().text(); };
  CHECK_THAT(told("RTX 6000"), ContainsSubstring("Quadro RTX 6000 (7.5)") &&
                                   ContainsSubstring("RTX 6000 Ada Generation (8.9)"));
  CHECK_THAT(told("A100 20GB"), ContainsSubstring("40 GB, 80 GB"));
  CHECK(asked("NVIDIA GH200 480GB").models.size() == 1); // of its CPU, as the driver prints it
}

TEST_CASE("GPUs of others are refused with what serves them") {
  const base::Error amd = gpu_in_question("MI300X").error();
  CHECK(amd.code == base::Errc::invalid_argument);
  CHECK_THAT(amd.text(), ContainsSubstring("AMD") && ContainsSubstring("RCCL"));
  CHECK_THAT(gpu_in_question("Gaudi 3").error().text(), ContainsSubstring("Intel"));
}

TEST_CASE("a name that several cards have means all of them, a memory size one") {
  CHECK(models_of(asked("RTX 3080")) ==
        std::vector<std::string>{"GeForce RTX 3080 10GB", "GeForce RTX 3080 12GB"});
  CHECK_THAT(explained("RTX 3080"),
             ContainsSubstring("10 GB, 760 GB/s (GeForce RTX 3080 10GB); 12 GB"));
  CHECK_FALSE(contains(models_of(asked("A100 80GB")), "A100 SXM4 40GB"));
}

TEST_CASE("a GPU that comes with an Arm CPU has wheels for Arm") {
  for (const char* gpu : {"GH200", "GB200", "GB300", "GB10", "Thor"}) {
    INFO(gpu);
    CHECK(cpu_of(asked(gpu)) == knowledge::CpuKind::aarch64);
    CHECK(values_about(gpu)["cpu"] == "aarch64");
  }
  CHECK(values_about("GH200")["first_pytorch_wheel"] == "2.6+cu126");
  CHECK(values_about("GH200")["newest_pytorch_wheel"] == "2.14+cu132");
  CHECK(values_about("Thor")["first_pytorch_wheel"] == "2.9+cu130");
  CHECK(values_about("H100")["cpu"] == "x86_64");
  CHECK_THAT(explained("sm_90"),
             ContainsSubstring("on an Arm host wheels with code for it from")); // H100 or GH200
  CHECK(needs_jetpack(asked("AGX Orin")));
  CHECK_FALSE(needs_jetpack(asked("Thor")));
}

TEST_CASE("old GPUs have a last driver branch and a last CUDA") {
  CHECK(values_about("Tesla K80")["last_cuda"] == "11.8");
  CHECK(values_about("Tesla K80")["last_driver_branch"] == "470");
  CHECK(values_about("GTX 1080")["last_driver_branch"] == "580");
  CHECK(values_about("AGX Xavier")["last_cuda"] == "12.9");
  CHECK(values_about("T4")["last_cuda"].is_null());
  CHECK(values_about("T4")["last_driver_branch"].is_null());
  CHECK_THAT(explained("Tesla K80"), ContainsSubstring("r470, the last that supports it"));
}

TEST_CASE("releases of NCCL with faults on this GPU are named, others are not") {
  CHECK(contains(faulty_nccl("H100"), "2.15.4"));
  CHECK_FALSE(contains(faulty_nccl("H100"), "2.29.2")); // with Arm CPUs alone
  CHECK(contains(faulty_nccl("GH200"), "2.29.2"));
  CHECK_FALSE(contains(faulty_nccl("T4"), "2.15.4")); // without NVLink LL128 is not used
  CHECK(values_about("H100")["nccl_faults"].size() == faulty_nccl("H100").size());
  CHECK_THAT(explained("H100"),
             ContainsSubstring("NCCL up to 2.15.4 can hang: ring all-reduce of 2 "
                               "GPUs with LL128; take NCCL 2.15.5"));
}

TEST_CASE("NVLS is no, not unknown, without NVLink") {
  SoftwareInQuestion software;
  for (const char* gpu : {"RTX 5090", "RTX PRO 6000 Server", "RTX 4090", "GB10"}) {
    INFO(gpu);
    CHECK(chain(judge_chains(asked(gpu), software), "NVLS all-reduce") == Known::no);
    CHECK(chain(judge_chains(asked(gpu), software), "multi-node NVLink") == Known::no);
    CHECK(values_about(gpu)["features"]["multicast"] == "no");
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
  CHECK(suitability(asked("B200")).reasons.front() == "BF16, TF32, FP8 and FP4");
  CHECK(suitability(asked("RTX 4090")).reasons == std::vector<std::string>{"BF16, TF32 and FP8"});
  CHECK(suitability(asked("V100")).reasons.size() == 3); // tensor cores, wheels, CUDA
  CHECK(suitability(asked("T4")).reasons.size() == 1);
}

TEST_CASE("the five dimensions of a T4 are there, and the right CUDA") {
  const auto t4 = values_about("T4");

  CHECK(t4["compute_capability"] == "7.5");
  CHECK(t4["architecture"] == "Turing");
  CHECK(t4["features"]["tf32"] == "no");
  CHECK(t4["models"][0]["memory_gb"] == 16.0);
  CHECK(t4["models"][0]["memory_gb_per_s"] == 320.0);
  CHECK(t4["models"][0]["nvlink"]["present"] == false);
  CHECK(t4["models"][0]["power_w"] == 70.0);
  CHECK(t4["models"][0]["tensor_tflops"]["f16"].is_null()); // no source states it
  CHECK(t4["price"].is_null());
  CHECK(t4["first_cuda"] == "10.0");
}

TEST_CASE("peak rates of tensor cores have their types and their source") {
  const auto h200 = values_about("H200 SXM5")["models"][0];

  CHECK(h200["tensor_tflops"]["bf16"] == 989.0);
  CHECK(h200["tensor_tflops"]["tf32"] == 494.5);
  CHECK(h200["sources"]["tensor"].size() == 1);
  CHECK_THAT(explained("H200 SXM5"), ContainsSubstring("bf16 989, f16 989, tf32 494.5 Tflop/s"));
}

TEST_CASE("prices are the user's, and are put in relation") {
  std::string text = explained("T4", {{"Tesla T4", 800}});

  CHECK_THAT(text, ContainsSubstring("50 per GB of memory"));
  CHECK_THAT(text, ContainsSubstring("2.5 per GB/s of memory"));
  CHECK_THAT(text, ContainsSubstring("50.79 per GB/s between GPUs"));
}

TEST_CASE("RTX 50 is sm_120, and its first wheel is 2.7 cu128") {
  const auto rtx = values_about("RTX 5090");

  CHECK(rtx["compute_capability"] == "12.0");
  CHECK(rtx["first_pytorch_wheel"] == "2.7+cu128");
  CHECK(rtx["first_driver_branch"] == "570");
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

TEST_CASE("the JSON has null for what is unknown") {
  const auto json =
      analysis_test::json_of(gpu_report({{asked("A100X"), {}}, {asked("H200"), {}}}, {}));

  CHECK(json["gpus"][0]["models"][0]["nvlink"].is_null());
  CHECK_THAT(explained("A100X"), ContainsSubstring("NVLink unknown"));
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
