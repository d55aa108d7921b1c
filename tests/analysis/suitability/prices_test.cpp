// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/price_section.h"
#include "analysis/report/written.h"
#include "analysis/steps/step_builder.h"
#include "analysis/suitability/prices.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

RunBuilder run_with_bandwidth() {
  RunBuilder run(2);
  run.trial()
      .cell("all_reduce", 500'000, 20'000)    // 25 GB/s
      .cell("all_reduce", 1'000'000, 20'000)  // 50 GB/s
      .cell("all_reduce", 4'000'000, 40'000); // 100 GB/s
  return run;
}

} // namespace

TEST_CASE("a price is found by the GPU's own name, by its model, or is that of any") {
  RunBuilder run(2);

  CHECK(*price_per_gpu(run, {{"NVIDIA H200", 10}}) == 10);
  CHECK(*price_per_gpu(run, {{"H200", 20}}) == 20);
  CHECK(*price_per_gpu(run, {{"", 30}}) == 30);
  CHECK(*price_per_gpu(run, {{"", 30}, {"H200", 20}}) == 20);
}

TEST_CASE("a GPU without a price is named, none is guessed") {
  auto price = price_per_gpu(RunBuilder(2), {{"T4", 800}});

  REQUIRE_FALSE(price);
  CHECK_THAT(price.error().message, ContainsSubstring("H200"));
  CHECK_FALSE(price_per_gpu(RunBuilder::on_cpus(2), {{"H200", 1}}));
  CHECK(*price_per_gpu(RunBuilder::on_cpus(2), {{"", 5}}) == 5);
}

TEST_CASE("GPUs of different prices cost their mean") {
  RunBuilder run(2);
  run.header.hosts[0].gpus[1].name = "Tesla T4";

  CHECK(*price_per_gpu(run, {{"H200", 30}, {"T4", 10}}) == 20);
}

TEST_CASE("a GB/s costs the price of a GPU by the best busbw that each has") {
  RunBuilder run = run_with_bandwidth();
  auto results = setting_results(run);

  auto costs = bandwidth_costs(results, 30'000);

  REQUIRE(costs.size() == 1);
  CHECK(costs[0].best->label.bytes == 4'000'000);
  CHECK(costs[0].per_gb_per_s == Approx(30'000 / *costs[0].best->busbw_gb_per_s));
  CHECK(costs[0].per_gb_per_s == Approx(300).epsilon(0.001));
}

TEST_CASE("what was measured at one size, as launches are, has no price per GB/s") {
  RunBuilder run = run_with_bandwidth();
  model::Cell launch = make_cell("all_reduce", 512);
  launch.label.what = model::CollectiveLabel{.launch = model::Launch::graph};
  add_cell(run.trials[0], launch, make_record(2, 20'000));
  auto results = setting_results(run);

  auto costs = bandwidth_costs(results, 30'000);

  REQUIRE(costs.size() == 1);
  CHECK(costs[0].best->label.collective()->is_plain());
}

TEST_CASE("an effective GPU costs the more the less efficient the GPUs are") {
  RunBuilder run(2);
  auto trial = run.trial();
  StepLengths alone{.bucket_0 = 0, .bucket_1 = 0};
  add_step_cell(*trial, {.label = {.model = "m", .ranks = {0}}, .lengths = {alone}});
  add_step_cell(*trial, {.label = {.model = "m", .ranks = {0, 1}}, .lengths = {{}, {}}});
  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);
  auto scalings = steps::scalings(results);
  REQUIRE(scalings.size() == 1);

  auto costs = gpu_costs(scalings, 1000);

  REQUIRE(costs.size() == 2);
  double efficiency = scalings[0].points[1].efficiency.value;
  CHECK(costs[0].per_effective_gpu == Approx(1000));
  CHECK(efficiency < 0.95);
  CHECK(costs[1].effective_gpus == Approx(2 * efficiency));
  CHECK(costs[1].per_effective_gpu == Approx(1000 / efficiency));
  const Report report = price_report(run, pooled, scalings, 1000);
  CHECK_THAT(text_of(report),
             ContainsSubstring("effective GPUs") && ContainsSubstring("1000 per GPU, as given"));
  CHECK(json_of(report, "price")["scaling"].size() == 2);
}

TEST_CASE("prices are reported with what they are laid on") {
  RunBuilder run = run_with_bandwidth();
  auto results = setting_results(run);

  const Report report = price_report(run, results, {}, 30'000);
  CHECK_THAT(text_of(report),
             ContainsSubstring("30000 per GPU, as given") && ContainsSubstring("all_reduce"));
  CHECK(json_of(report, "price")["bandwidth"][0]["price_per_gb_per_s"].get<double>() ==
        Approx(300).epsilon(0.001));
  CHECK_THAT(text_of(price_report(RunBuilder(1), {}, {}, 1)),
             ContainsSubstring("No price applies"));
}
