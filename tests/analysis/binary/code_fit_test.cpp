// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/code_builder.h"
#include "analysis/binary/code_fit.h"
#include "analysis/report/written.h"
#include "support/catch.h"

namespace ncclprobe::analysis {
namespace {

DeviceCode code_of(const std::string& entries) {
  return *read_device_code(elf_file({{".nv_fatbin", fat_binary(entries)}}));
}

GpuVerdict verdict(const DeviceCode& code, knowledge::ComputeCapability gpu,
                   std::optional<knowledge::VersionNumber> driver = std::nullopt) {
  return judge_device_code(code, {{"a GPU", gpu, std::move(driver)}}).front();
}

} // namespace

TEST_CASE("the code that a GPU will run is named") {
  DeviceCode code = code_of(code_entry(CodeKind::cubin, 80) + code_entry(CodeKind::cubin, 90));

  CHECK(verdict(code, {9, 0}).meaning == "runs its sm_90 code");
  CHECK(verdict(code, {8, 9}).meaning == "runs its sm_80 code");
  CHECK(verdict(code, {8, 9}).runs == GpuVerdict::Runs::yes);
}

TEST_CASE("a missing kernel image is said before it happens, with what to take instead") {
  DeviceCode code = code_of(code_entry(CodeKind::cubin, 80) + code_entry(CodeKind::cubin, 90));

  GpuVerdict too_new = verdict(code, {12, 0});
  CHECK(too_new.runs == GpuVerdict::Runs::no);
  CHECK_THAT(too_new.meaning, ContainsSubstring("no kernel image is available"));
  CHECK_THAT(too_new.meaning, ContainsSubstring("2.7+cu128"));
  CHECK_THAT(verdict(code, {7, 0}).meaning, ContainsSubstring("CUDA 12.9 was the last"));
}

TEST_CASE("PTX is compiled only by a driver that knows its version") {
  DeviceCode code = code_of(code_entry(CodeKind::ptx, 90));

  CHECK(verdict(code, {12, 0}).runs == GpuVerdict::Runs::unknown);
  CHECK(verdict(code, {12, 0}, knowledge::VersionNumber{{13, 0}}).runs == GpuVerdict::Runs::yes);
  GpuVerdict old = verdict(code, {12, 0}, knowledge::VersionNumber{{12, 8}});
  CHECK(old.runs == GpuVerdict::Runs::no);
  CHECK_THAT(old.meaning, ContainsSubstring("unsupported toolchain"));
}

TEST_CASE("an NCCL is shown with the CUDA that it was built with") {
  DeviceCode code = code_of(code_entry(CodeKind::cubin, 90));
  CHECK_THAT(analysis_test::text_of(device_code_report("a", code, {})), !ContainsSubstring("NCCL"));

  code.nccl = "2.28.9";
  code.nccl_cuda = "13.0";

  CHECK_THAT(analysis_test::text_of(device_code_report("a", code, {})),
             ContainsSubstring("NCCL         2.28.9, built with CUDA 13.0\n"));
  auto json = analysis_test::json_of(device_code_report("a", code, {}));
  CHECK(json["nccl_cuda"] == "13.0");
}

TEST_CASE("a file without GPU code gives no verdict") {
  GpuVerdict none = verdict(*read_device_code(elf_file({{".text", "a"}})), {9, 0});

  CHECK(none.runs == GpuVerdict::Runs::unknown);
  CHECK_THAT(none.meaning, ContainsSubstring("other libraries"));
}

TEST_CASE("code that is linked when the program runs is not promised to run") {
  CHECK(verdict(code_of(code_entry(CodeKind::link_time, 90)), {9, 0}).runs ==
        GpuVerdict::Runs::unknown);
}

TEST_CASE("text and JSON say the same") {
  DeviceCode code = code_of(code_entry(CodeKind::cubin, 80) + code_entry(CodeKind::ptx, 90));
  auto verdicts =
      judge_device_code(code, {{"NVIDIA H200", {9, 0}, {}}, {"Tesla V100", {7, 0}, {}}});

  std::string text = analysis_test::text_of(device_code_report("lib.so", code, verdicts));
  CHECK_THAT(text, ContainsSubstring("sm_80"));
  CHECK_THAT(text, ContainsSubstring("Fails        Tesla V100 (7.0)"));
  auto json = analysis_test::json_of(device_code_report("lib.so", code, verdicts));
  CHECK(json["gpus"][0]["via"] == "compute_90");
  CHECK(json["gpus"][0]["verdict"] == "ptx_jit");
  CHECK(json["gpus"][1]["runs"] == "no");
  CHECK(json["ptx"][0]["ptx_isa"] == "9.0");
}

TEST_CASE("on an Arm host the wheels for Arm are named") {
  DeviceCode code = code_of(code_entry(CodeKind::cubin, 80));
  GpuToServe gh200{"NVIDIA GH200 480GB", {9, 0}, {}, knowledge::CpuKind::aarch64};

  CHECK_THAT(judge_device_code(code, {gh200}).front().meaning,
             ContainsSubstring("PyTorch's wheels for Arm have its code since 2.6+cu126"));
}

} // namespace ncclprobe::analysis
