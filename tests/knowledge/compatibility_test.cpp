// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/enum_names.h"
#include "knowledge/compatibility.h"
#include "support/catch.h"
#include "support/paths.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace ncclprobe::knowledge {
namespace {

nlohmann::json vectors() {
  std::ifstream file(support::source_dir() + "/tests/knowledge/vectors.json");
  return nlohmann::json::parse(file);
}

ComputeCapability capability(std::string_view text) {
  return base::value_or_throw(parse_compute_capability(text));
}

VersionNumber version(std::string_view text) {
  return base::value_or_throw(parse_version(text));
}

std::vector<CodeTarget> targets(const std::vector<std::string>& texts) {
  std::vector<CodeTarget> all;
  for (const std::string& one : texts)
    all.push_back(base::value_or_throw(parse_code_target(one)));
  return all;
}

void check_code(const nlohmann::json& vector, const CodeFit& fit) {
  CHECK(base::to_string(fit.verdict) == vector.at("expect").get<std::string>());
  std::string via = fit.via ? fit.via->capability.text() : "";
  CHECK(via == (vector.at("via").is_null() ? "" : vector.at("via").get<std::string>()));
}

// "160/142-1", "142*256"
double value_of(const std::string& expression) {
  std::istringstream in(expression);
  double value = 0;
  in >> value;
  char sign = 0;
  for (double next = 0; in >> sign >> next;)
    value = sign == '/' ? value / next : sign == '*' ? value * next : value - next;
  return value;
}

} // namespace

TEST_CASE("the arithmetic of the vectors holds, to the digits that are given") {
  auto all = vectors().at("arithmetic");
  REQUIRE(all.size() == 9);
  for (const auto& one : all) {
    INFO(one.dump());
    double expected = one.at("value");
    CHECK(value_of(one.at("expr")) == Approx(expected).epsilon(0.004));
  }
}

TEST_CASE("every PyTorch wheel of the vectors is judged as worked out by hand") {
  auto all = vectors().at("wheel");
  REQUIRE(all.size() == 17);
  for (const auto& one : all) {
    INFO(one.dump());
    const PytorchWheel* wheel = pytorch_wheel(version(one.at("torch").get<std::string>()),
                                              one.at("cuda_tag").get<std::string>());

    REQUIRE(wheel != nullptr);
    check_code(one,
               judge_code(capability(one.at("cc").get<std::string>()), wheel->cubins, wheel->ptx));
  }
}

TEST_CASE("every default NCCL build of the vectors is judged as worked out by hand") {
  auto all = vectors().at("nccl_default_build");
  auto builds = vectors().at("nccl_default_builds"); // the targets of NCCL's makefile
  REQUIRE(all.size() == 12);
  for (const auto& one : all) {
    INFO(one.dump());
    const auto& build = builds.at(one.at("nccl_built_with").get<std::string>());
    check_code(one, judge_code(capability(one.at("cc").get<std::string>()),
                               targets(build.at("cubins")), targets(build.at("ptx"))));
  }
}

TEST_CASE("every driver of the vectors is judged as worked out by hand") {
  auto all = vectors().at("driver");
  REQUIRE(all.size() == 16);
  for (const auto& one : all) {
    INFO(one.dump());
    DriverFit fit = judge_driver(version(one.at("driver").get<std::string>()),
                                 version(one.at("runtime").get<std::string>()));

    CHECK(base::to_string(fit.verdict) == one.at("expect").get<std::string>());
  }
}

TEST_CASE("a driver has a newest runtime, and a newer one with fewer features") {
  NewestRuntimes newest = newest_runtimes(version("535.129.03"));
  CHECK(newest.full == version("12.2"));
  CHECK(newest.minor_compat == version("12.9"));
  newest = newest_runtimes(version("470.129.06"));
  CHECK(newest.full == version("11.4"));
  CHECK(newest.minor_compat == version("11.8"));
  CHECK_FALSE(newest_runtimes(version("340.1")).minor_compat.has_value());
  newest = newest_runtimes(version("580.95.05"), version("12.9")); // a GPU that CUDA 13 left out
  CHECK(newest.full == version("12.9"));
  CHECK_FALSE(newest.minor_compat.has_value());
}

TEST_CASE("a driver that is too old says which one would do") {
  DriverFit fit = judge_driver(version("515.48.07"), version("12.1"));

  CHECK(fit.least->text() == "525.60.13");
  CHECK(fit.full->text() == "530.30.02");
  CHECK_THAT(fit.meaning, ContainsSubstring("525.60.13"));
}

TEST_CASE("a cuda-compat libcuda helps a driver that is too old, and only that") {
  CHECK(
      judge_driver(version("470.129.06"), version("12.1"), LoadedDriver::compat_package).verdict ==
      DriverVerdict::forward_compat);
  CHECK(
      judge_driver(version("535.129.03"), version("12.1"), LoadedDriver::compat_package).verdict ==
      DriverVerdict::full);
}

TEST_CASE(
    "CUDA 11.0 runs on the driver that it came with, which is older than its family's floor") {
  CHECK(judge_driver(version("450.36.06"), version("11.0")).verdict == DriverVerdict::full);
  CHECK(judge_driver(version("450.36.05"), version("11.0")).verdict == DriverVerdict::insufficient);
}

TEST_CASE("what the tables do not know stays unknown") {
  CHECK(judge_driver(version("999.1"), version("27.0")).verdict == DriverVerdict::unknown);
  // 13.3's packaged driver was not sourced: enough by the floor, full or not is open.
  DriverFit fit = judge_driver(version("610.1"), version("13.3"));
  CHECK_FALSE(fit.full.has_value());
  CHECK(fit.verdict == DriverVerdict::minor_compat);
}

TEST_CASE("machine code never runs on a smaller minor or another major") {
  CHECK(cubin_runs_on(targets({"sm_80"})[0], {8, 9}));
  CHECK_FALSE(cubin_runs_on(targets({"sm_89"})[0], {8, 6}));
  CHECK_FALSE(cubin_runs_on(targets({"sm_90"})[0], {10, 0}));
}

TEST_CASE("code for one architecture or family stays there") {
  CHECK(cubin_runs_on(targets({"sm_90a"})[0], {9, 0}));
  CHECK_FALSE(cubin_runs_on(targets({"sm_100a"})[0], {10, 3}));
  CHECK(cubin_runs_on(targets({"sm_100f"})[0], {10, 3}));
  CHECK_FALSE(cubin_runs_on(targets({"sm_100f"})[0], {10, 1}));
  CHECK_FALSE(cubin_runs_on(targets({"sm_103f"})[0], {10, 0}));
  CHECK_FALSE(cubin_runs_on(targets({"sm_100f"})[0], {12, 0}));
  CHECK(ptx_serves(targets({"compute_90"})[0], {12, 0}));
  CHECK_FALSE(ptx_serves(targets({"compute_90a"})[0], {10, 0}));
  CHECK_FALSE(ptx_serves(targets({"compute_120"})[0], {10, 0}));
  CHECK(ptx_serves(targets({"compute_120f"})[0], {12, 1}));
}

TEST_CASE("a GPU without code is told apart as too new, too old or in between") {
  auto cubins = targets({"sm_80", "sm_90"});
  CHECK(judge_code({12, 0}, cubins, {}).verdict == CodeVerdict::none);
  CHECK(why_no_code({12, 0}, cubins, {}) == Misfit::gpu_too_new);
  CHECK(why_no_code({7, 5}, cubins, {}) == Misfit::gpu_too_old);
  CHECK(why_no_code({9, 0}, targets({"sm_80", "sm_100"}), {}) == Misfit::gap);
}

TEST_CASE("the support horizon names the first and the last software for a GPU") {
  SupportHorizon ampere = support_horizon({8, 0});
  CHECK(ampere.first_cuda->text() == "11.0");
  CHECK(ampere.first_driver->text() == "445");
  CHECK_FALSE(ampere.last_cuda.has_value());
  CHECK(ampere.first_wheel->name() == "1.7.1+cu110");

  SupportHorizon rtx50 = support_horizon({12, 0});
  CHECK(rtx50.first_cuda->text() == "12.8");
  CHECK(rtx50.first_wheel->name() == "2.7+cu128");
  CHECK(rtx50.newest_without == std::vector<std::string>{"cu126"});

  SupportHorizon volta = support_horizon({7, 0});
  CHECK(volta.last_cuda->text() == "12.9");
  CHECK(volta.newest_without == std::vector<std::string>{"cu130", "cu132"});
}

} // namespace ncclprobe::knowledge
