// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/wheel_spec.h"
#include "support/catch.h"

namespace ncclprobe::analysis {
namespace {

WheelSpec parsed(const std::string& text) {
  return base::value_or_throw(parse_wheel_spec(text));
}

} // namespace

TEST_CASE("a wheel is named as pip names it, with or without its tag") {
  WheelSpec wheel = parsed("torch==2.8.0+cu128");
  CHECK(wheel.torch.text() == "2.8.0");
  CHECK(wheel.build == WheelBuild::cuda);
  CHECK(wheel.tag == "cu128");
  CHECK_FALSE(wheel.pre_release);

  CHECK(parsed("torch==2.8").build == WheelBuild::pypi);
  CHECK(parsed("2.8+cu118").tag == "cu118");
  CHECK(parsed("torch==1.13.1.post1").build == WheelBuild::pypi);
  CHECK(parsed("torch==2.8+cpu").build == WheelBuild::cpu);
  CHECK(parsed("torch==2.8+cpu.cxx11.abi").build == WheelBuild::cpu);
  CHECK(parsed("torch==2.8.0+rocm6.4").build == WheelBuild::rocm);
  CHECK(parsed("torch==2.8+xpu").build == WheelBuild::xpu);
}

TEST_CASE("builds before a release are told from releases") {
  for (const char* text : {"torch==2.10.0.dev20251001+cu128", "2.10.0.dev20251001",
                           "torch==2.9.0rc1", "torch==1.0.0a0"}) {
    INFO(text);
    CHECK(parsed(text).pre_release);
  }
  CHECK(parsed("2.10.0.dev20251001").torch.text() == "2.10.0");
  CHECK_FALSE(parsed("torch==2.8.0").pre_release);
}

TEST_CASE("what names no wheel is refused, and says what does") {
  for (const char* text :
       {"", "torch", "torch==", "torch==2", "numpy==2.8", "torch==2.8+", "torch==2.8+cu",
        "torch==2.8+cu1x8", "torch==2.8+cu12800", "torch==2.8.0.0", "torch==2..8", "torch==.2.8",
        "torch==2.8x", "torch>=2.8", "torch==2.8.devx", "torch==-2.8", "torch == 2.8"}) {
    INFO(text);
    auto refused = parse_wheel_spec(text);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == base::Errc::invalid_argument);
    CHECK_THAT(refused.error().text(), ContainsSubstring("torch==2.8.0+cu128"));
  }
}

} // namespace ncclprobe::analysis
