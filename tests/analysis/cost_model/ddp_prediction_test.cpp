// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/ddp_prediction.h"
#include "analysis/run_builder.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "workload/models/catalogue.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::cost_model;
using namespace ncclprobe::analysis_test;
using workload::StepParts;

namespace {

// A ring: 100 ns, 10 for each hop, and 8 bytes a ns.
double ring_ns(int ranks, std::uint64_t bytes) {
  return 100 + 20 * (ranks - 1) + 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / 8;
}

// A step on 1, 2, 4 and 8 ranks with two buckets of 1 KiB.
model::Run ddp_run() {
  model::Run run = make_gpu_run(8);
  run.trials = {make_trial({.ranks = 8})};
  for (int ranks : {1, 2, 4, 8})
    for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication}) {
      if (ranks == 1 && parts != StepParts::all)
        continue;
      StepCellArguments cell{.label = {.pattern = "ddp", .model = "m", .ranks = {}, .parts = parts},
                             .bytes = 2048};
      const auto bucket_ns = ranks == 1 ? 0 : static_cast<std::int64_t>(ring_ns(ranks, 1024));
      for (int rank = 0; rank < ranks; ++rank) {
        cell.label.ranks.push_back(rank);
        cell.lengths.push_back({.bucket_0 = bucket_ns, .bucket_1 = bucket_ns});
      }
      add_step_cell(run.trials[0], cell);
    }
  return run;
}

std::vector<Point> ring_points(const std::vector<int>& ranks) {
  std::vector<Point> points;
  for (int n : ranks)
    for (std::uint64_t bytes : {1024, 2048, 4096})
      points.push_back({.ranks = n, .bytes = bytes, .time_ns = ring_ns(n, bytes)});
  return points;
}

} // namespace

TEST_CASE("Buckets follow each other, each when it is ready") {
  auto time = [](std::uint64_t bytes) { return static_cast<double>(bytes); };
  CHECK(exposed_ns({{80, 200}, {60, 300}}, time) == 60);
  CHECK(exposed_ns({{130, 200}, {60, 300}}, time) == 90); // the second waits for the first
  CHECK(exposed_ns({{0, 200}}, time) == 0);
  CHECK(exposed_ns({}, time) == 0);
}

TEST_CASE("A step that was measured is what the prediction starts from") {
  model::Run run = ddp_run();
  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);

  auto step = measured_step(run, results, "m", 8);

  REQUIRE(step.has_value());
  CHECK(step->ranks == 8);
  REQUIRE(step->buckets.size() == 2);
  CHECK(step->buckets[0].bytes == 1024);
  CHECK(step->buckets[0].ready_ns == Approx(200));
  CHECK(step->buckets[1].ready_ns == Approx(300));
  CHECK(step->alone_ns == Approx(360)); // measured on one rank
  // 464 ns each: bucket 0 from 200 to 664, bucket 1 to 1128.
  CHECK(step->measured_exposed_ns == Approx(828));
  CHECK(step->rest_ns == Approx(360));
  CHECK_FALSE(measured_step(run, results, "other", 8).has_value());
}

TEST_CASE("The largest step is predicted from the smaller ones") {
  model::Run run = ddp_run();
  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);

  auto held = held_out(run, results, ring_points({2, 4, 8}), "m", 8, {});

  REQUIRE(held.has_value());
  CHECK(held->predicted.ranks == 8);
  CHECK(held->from_ranks == std::vector{2, 4});
  CHECK(held->measured_ns == Approx(1188));
  CHECK(held->error() == Approx(0).margin(1e-6));
}

TEST_CASE("More ranks take longer, with an interval around it") {
  model::Run run = ddp_run();
  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);
  auto collectives = RankModel::fit(ring_points({2, 4, 8}), model::Collective::all_reduce, 8);
  auto step = measured_step(run, results, "m", 8);
  REQUIRE(collectives.has_value());
  REQUIRE(step.has_value());

  auto without = predict(*step, *collectives, 16, {}, {});
  CHECK_THAT(without.why_not, ContainsSubstring("--inter-node"));

  auto predicted = predict(*step, *collectives, 16, InterNode{8, 50}, {});
  // Each bucket takes 640 and two hops of 50 between nodes; the second ends 1380 after its
  // gradients.
  CHECK(predicted.step_ns == Approx(360 + 1380));
  CHECK(predicted.efficiency == Approx(360 / predicted.step_ns));
  REQUIRE(predicted.step_interval_ns.has_value());
  CHECK(predicted.step_interval_ns->low <= predicted.step_ns);
  CHECK(predicted.step_interval_ns->high >= predicted.step_ns);
}

TEST_CASE("What the recurrence leaves out stays as it was measured") {
  model::Run run = ddp_run();
  auto pooled = setting_results(run);
  auto results = steps::step_results(run, pooled);
  auto collectives = RankModel::fit(ring_points({2, 4, 8}), model::Collective::all_reduce, 64);
  auto step = measured_step(run, results, "m", 8);
  step->measured_exposed_ns -= 100; // something runs beside the last bucket
  step->rest_ns += 100;

  auto predicted = predict(*step, *collectives, 16, {}, {});

  CHECK(*modelled_exposed_ns(*step, *collectives, 16, {}) == Approx(1180));
  CHECK(predicted.exposed_ns == Approx(1080));
  CHECK(predicted.step_ns == Approx(360 + 1180));
}

TEST_CASE("A model that was not measured is computed from its architecture and stated times") {
  auto spec = workload::make_model("gpt2-124m");
  REQUIRE(spec.has_value());

  auto step = stated_step(*spec, model::DataType::f32, {},
                          {.forward_ns = 10e6, .backward_ns = 20e6, .source = "stated"});

  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    bytes += step.buckets[i].bytes;
    CHECK(step.buckets[i].ready_ns > 10e6);
    CHECK((i == 0 || step.buckets[i].ready_ns >= step.buckets[i - 1].ready_ns));
  }
  CHECK(bytes == 4 * spec->parameter_count());
  CHECK(step.buckets.back().ready_ns == Approx(30e6));
  CHECK(step.alone_ns == Approx(30e6));
}
