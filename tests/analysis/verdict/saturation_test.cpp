// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/saturation_section.h"
#include "analysis/report/written.h"
#include "analysis/verdict/saturation.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

// An all-reduce on two ranks (busbw = algbw) of 1M, 2M, ... with these rates, GB/s.
RunBuilder run_with(const std::vector<double>& rates, std::vector<model::Setting> settings = {}) {
  RunBuilder run(2);
  auto trial = run.trial(std::move(settings));
  std::uint64_t bytes = 1 << 20;
  for (double rate : rates) {
    // Rank 1 takes 1 ns longer, the mean half of that.
    auto time_ns = static_cast<std::int64_t>(static_cast<double>(bytes) / rate);
    trial.cell("all_reduce", bytes, time_ns);
    bytes *= 2;
  }
  return run;
}

Saturation only(const std::vector<SettingResult>& results) {
  auto found = saturations(results);
  REQUIRE(found.size() == 1);
  return found.front();
}

} // namespace

TEST_CASE("bandwidth saturates at the smallest size from which it stays near the best") {
  auto results = setting_results(run_with({10, 50, 92, 95, 100, 97}));

  Saturation found = only(results);

  CHECK(found.state == Saturated::reached);
  CHECK(found.from->label.bytes == std::uint64_t{4} << 20);
  CHECK(found.best->label.bytes == std::uint64_t{16} << 20);
  CHECK(found.sizes == 6);
}

TEST_CASE("a dip on the way up counts: what is asked for is where it stays") {
  auto results = setting_results(run_with({10, 95, 60, 95, 100}));

  CHECK(only(results).from->label.bytes == std::uint64_t{8} << 20);
}

TEST_CASE("what still rises at the largest size is not said to have saturated") {
  auto results = setting_results(run_with({10, 20, 40, 80}));

  CHECK(only(results).state == Saturated::rising);
  CHECK(only(results).from == nullptr);
}

TEST_CASE("what falls off at the largest size has no size from which it stays") {
  auto results = setting_results(run_with({10, 100, 100, 70}));

  CHECK(only(results).state == Saturated::falling);
}

TEST_CASE("what is near its best from the smallest size on may saturate below it") {
  auto results = setting_results(run_with({95, 99, 100}));

  CHECK(only(results).state == Saturated::smallest);
}

TEST_CASE("two sizes tell nothing, wrong data neither") {
  CHECK(saturations(setting_results(run_with({10, 100}))).empty());
  model::Run run = run_with({10, 100, 100});
  run.trials[0].cells[0].check.wrong = 1;
  run.trials[0].cells[0].outcome.kind = model::OutcomeKind::wrong_data;

  CHECK(saturations(setting_results(run)).empty());
}

TEST_CASE("every setting has its own, in text and JSON") {
  model::Run run = run_with({10, 50, 92, 100});
  model::Run other = run_with({10, 20, 40, 100}, {{"NCCL_PROTO", "Simple"}});
  other.trials[0].spec.id = 1;
  run.trials.push_back(other.trials[0]);
  auto results = setting_results(run);

  std::string text = text_of(saturation_report(run, results));
  auto json = json_of(saturation_report(run, results), "saturation");

  CHECK_THAT(text, ContainsSubstring("stays at 90% or more") && ContainsSubstring("default") &&
                       ContainsSubstring("NCCL_PROTO=Simple") &&
                       ContainsSubstring("not reached by 8M"));
  REQUIRE(json.size() == 2);
  CHECK(json[0]["from_bytes"] == 4 << 20);
  CHECK(json[1]["state"] == "rising");
  CHECK(json[1]["from_bytes"].is_null());
}
