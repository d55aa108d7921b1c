// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_runs.h"
#include "analysis/report/prediction_report.h"
#include "analysis/report/written.h"
#include "model/cell_label.h"
#include "support/catch.h"
#include "support/run_builder.h"
#include "workload/models/catalogue.h"

#include <sstream>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

const cost_model::InterNodeRange k_wires{{50, 5000}, {50, 5000}};

} // namespace

TEST_CASE("A prediction prints its errors on what was measured first") {
  auto prediction = predict(run_with_sizes(), {.ranks = {8, 16}, .inter_node = k_wires});
  REQUIRE(prediction.has_value());

  const Report report = prediction_report(*prediction);
  const std::string text = text_of(report);

  CHECK(text.starts_with("Predicted steps: ddp of linear:256x8, f32, batch 64"));
  auto quality = text.find("How well the model fits"),
       steps = text.find("Steps: computing measured");
  REQUIRE(quality != std::string::npos);
  REQUIRE(steps != std::string::npos);
  CHECK(quality < steps);
  CHECK_THAT(text, ContainsSubstring("each left out in turn and predicted: median error"));
  CHECK_THAT(text, ContainsSubstring("all_reduce on 2, 4 ranks, each number left out in turn:"));
  CHECK(ids_of(report) == std::vector<std::string_view>{"one_number_of_ranks",
                                                        "one_number_of_ranks", "no_loggp",
                                                        "interval_of"});
  CHECK_THAT(text, ContainsSubstring("all_gather was measured on 4 ranks only"));
  CHECK_THAT(text,
             ContainsSubstring("Sources of the interval at 16 ranks, in percent of the step: "));
  CHECK(prediction->ranks_per_node == 4);
  REQUIRE(prediction->predicted.size() == 2);
  CHECK(prediction->predicted[1].efficiency < prediction->predicted[0].efficiency);
}

TEST_CASE("No line of a prediction is wider than the report, whatever was measured") {
  auto prediction = predict(run_with_sizes(), {.ranks = {8}});
  REQUIRE(prediction.has_value());
  for (cost_model::CollectiveModel& model : prediction->models)
    for (cost_model::Piece& piece : model.pieces) {
      piece.first_bytes = 1'234'567'891;
      piece.last_bytes = 1'987'654'321;
      piece.algorithm = "RING";
      piece.protocol = "SIMPLE";
      piece.begin = cost_model::Piece::Begin::observed;
      piece.line.factors = {123'456, 1.23456};
      piece.line.intervals = {Interval{100'000, 150'000}, Interval{0.5, 1.75}};
      prediction->loggp.push_back(
          {.collective = model::Collective::reduce_scatter,
           .ranks = 1024,
           .algorithm = "RING",
           .protocol = "SIMPLE",
           .first_bytes = piece.first_bytes,
           .last_bytes = piece.last_bytes,
           .fit = {.factors = {123'456, 98'765, 1.23456},
                   .intervals = {Interval{100'000, 150'000}, Interval{90'000, 110'000},
                                 Interval{0.5, 1.75}}},
           .overhead_ns = 98'765});
    }
  for (int columns : {80, 100, 120}) {
    std::istringstream lines(write_text(prediction_report(*prediction), columns));
    for (std::string line; std::getline(lines, line);)
      CHECK(line.size() <= static_cast<std::size_t>(columns));
  }
}

TEST_CASE("The prediction's JSON has what its text has") {
  auto prediction = predict(run_with_sizes(), {.ranks = {8}});
  REQUIRE(prediction.has_value());

  auto json = json_of(prediction_report(*prediction));

  CHECK(json["schema"] == "ncclprobe.prediction");
  CHECK(json["workload"] == "ddp");
  CHECK(json["computing"] == "measured at 4 ranks");
  CHECK_FALSE(json["left_out_sizes"].is_null());
  CHECK(json["left_out_ranks"].size() == 3);
  CHECK_FALSE(json["collectives"].empty());
  // CSV has the same, a row for each number of ranks.
  const std::string csv = written(prediction_report(*prediction), Format::csv);
  CHECK_THAT(csv,
             ContainsSubstring("ranks,nodes,step_ms,step_interval_ms_low,step_interval_ms_high,"));
  CHECK_THAT(csv, ContainsSubstring("\r\n8,2,,,,"));
  // More ranks than the node has, without a statement about the network.
  CHECK(json["predicted"][0]["why_not_id"] == "unknown_transfer");
  CHECK_THAT(json["predicted"][0]["why_not"].get<std::string>(), ContainsSubstring("--inter-node"));
}

TEST_CASE("A model without steps in the run takes the rates and the options of those it has") {
  auto prediction = predict(run_with_sizes(), {.model = "linear:512x4", .ranks = {4}});

  REQUIRE(prediction.has_value());
  const std::string text = text_of(prediction_report(*prediction));
  CHECK(text.starts_with("Predicted steps: ddp of linear:512x4, f32, batch 64"));
  CHECK_THAT(text, ContainsSubstring("Steps: computing by the rates of ddp linear:256x8"));
  CHECK_THAT(text, ContainsSubstring("the step that gave the rates, at 4 ranks"));
  CHECK(prediction->base.request.bucket_bytes == 600'000U);
}

TEST_CASE("A step of another type takes no rates, and none of the run's without products") {
  workload::StepRequest request;
  request.model = *workload::make_model("linear:256x8");
  request.type = model::StepType::bf16;
  request.compute.kind = model::StepCompute::Kind::none;
  const model::Run idle = known_run(request, {1, 2}, {1});
  PredictionRequest wanted{.model = "linear:512x4", .ranks = {4}};

  const std::vector<model::Run> collectives{run_with_sizes()};
  auto no_products = predict(idle, wanted, collectives);
  wanted.compute = cost_model::StatedCompute{10e6, 20e6, 0, "as stated"};
  auto stated = predict(idle, wanted, collectives);
  wanted.compute.reset();
  wanted.say = [](workload::StepRequest& step) { step.type = model::StepType::bf16; };
  auto other_type = predict(run_with_sizes(), wanted);

  REQUIRE_FALSE(no_products.has_value());
  CHECK_THAT(no_products.error().text(), ContainsSubstring("--forward and --backward"));
  REQUIRE(stated.has_value());
  CHECK(stated->base.request.type == model::StepType::bf16); // the run's
  REQUIRE_FALSE(other_type.has_value());
}

TEST_CASE("Of steps of several types the meant one must be said, and gives its rates alone") {
  model::Run run = run_with_sizes();
  workload::StepRequest half;
  half.model = *workload::make_model("linear:256x8");
  half.batch = 64;
  half.bucket_bytes = 600'000;
  half.type = model::StepType::bf16;
  const auto trial = known_run(half, {4}, {3}).trials[0]; // three times as slow
  for (std::size_t i = 0; i < trial.cells.size(); ++i)
    add_cell(run.trials[0], trial.spec.cells[i], trial.cells[i]);
  PredictionRequest wanted{.model = "linear:512x4", .ranks = {4}};

  auto refused = predict(run, wanted);
  wanted.compute = cost_model::StatedCompute{10e6, 20e6, 0, "as stated"};
  auto stated = predict(run, wanted);
  wanted.compute.reset();
  wanted.say = [](workload::StepRequest& step) { step.type = model::StepType::f32; };
  auto said = predict(run, wanted);
  auto of_one_type = predict(run_with_sizes(), {.model = "linear:512x4", .ranks = {4}});

  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().text(), ContainsSubstring("several data types: bf16, f32"));
  REQUIRE_FALSE(stated.has_value());
  CHECK_THAT(stated.error().text(), ContainsSubstring("--type"));
  REQUIRE(said.has_value());
  CHECK(said->base.request.type == model::StepType::f32);
  CHECK(said->predicted[0].step_ns == Approx(of_one_type->predicted[0].step_ns).epsilon(1e-6));
}

TEST_CASE("A model's compute times may be stated") {
  PredictionRequest request{.model = "bert-base", .ranks = {4}};

  request.compute = cost_model::StatedCompute{10e6, 20e6, 0, "as stated"};
  auto stated = predict(run_with_sizes(), request);
  request.compute.reset();
  request.flops_per_s = cost_model::Stated{400e12, 450e12};
  request.say = [](workload::StepRequest& step) { step.batch = 8; };
  auto computed = predict(run_with_sizes(), request);

  REQUIRE(stated.has_value());
  CHECK(stated->base.alone_ns == Approx(30e6));
  CHECK(stated->predicted[0].step_ns > 30e6);
  REQUIRE(computed.has_value());
  CHECK_THAT(computed->base.source, ContainsSubstring("400 to 450 Tflop/s"));
  const std::string_view exactly = "stated_exactly";
  CHECK(std::ranges::count(ids_of(prediction_report(*stated)), exactly) == 1);
  stated->predicted[0].step_interval_ns.reset();
  CHECK(std::ranges::count(ids_of(prediction_report(*stated)), exactly) == 0);
  CHECK(std::ranges::count(ids_of(prediction_report(*computed)), exactly) == 0);
}

TEST_CASE("Of several kinds of steps the meant one must be said") {
  model::Run run = run_with_sizes();
  workload::StepRequest request;
  request.pattern = model::StepPattern::fsdp;
  request.model = *workload::make_model("linear:256x8");
  request.batch = 64;
  auto& trial = run.trials[0];
  const auto fsdp = known_run(request, {4}, {1}).trials[0];
  for (std::size_t i = 0; i < fsdp.cells.size(); ++i)
    add_cell(trial, fsdp.spec.cells[i], fsdp.cells[i]);

  auto refused = predict(run, {.ranks = {8}});
  PredictionRequest meant{.ranks = {8}};
  meant.say = [](workload::StepRequest& step) { step.pattern = model::StepPattern::fsdp; };
  auto said = predict(run, meant);

  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().text(), ContainsSubstring("2 kinds of steps"));
  REQUIRE(said.has_value());
  CHECK(said->base.request.pattern == model::StepPattern::fsdp);
}

TEST_CASE("A step with an input copy beside it is no base of a prediction") {
  model::Run run = run_with_sizes();
  workload::StepRequest request;
  request.model = *workload::make_model("linear:256x8");
  request.batch = 64;
  request.bucket_bytes = 600'000;
  request.input_copy = {.bytes = 1 << 20};
  const auto copied = known_run(request, {4}, {1}).trials[0];
  for (std::size_t i = 0; i < copied.cells.size(); ++i) {
    const auto label = copied.spec.cells[i].label.step();
    if (label->parts == model::StepParts::all && label->copies_input())
      add_cell(run.trials[0], copied.spec.cells[i], copied.cells[i]);
  }

  auto prediction = predict(run, {.ranks = {8}});

  REQUIRE(prediction.has_value());
  CHECK(prediction->base.request.input_copy.bytes == 0);
}

TEST_CASE("Collectives that a run lacks come from another") {
  workload::StepRequest request;
  request.model = *workload::make_model("linear:256x8");
  request.batch = 64;
  const model::Run alone = known_run(request, {1}, {1, 1});
  RunBuilder collectives(4);
  auto trial = collectives.trial();
  for (const cost_model::Point& point : known_points({4}))
    trial.cell(std::string(model::to_string(point.collective)), point.bytes,
               static_cast<std::int64_t>(point.time_ns));
  PredictionRequest wanted{.ranks = {4}, .ranks_per_node = 8};

  auto refused = predict(alone, wanted);
  auto helped = predict(alone, wanted, {collectives});

  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().text(), ContainsSubstring("no all_reduce of two sizes"));
  REQUIRE(helped.has_value());
  CHECK_FALSE(helped->predicted[0].why_not);
  CHECK(helped->predicted[0].step_ns > helped->base.alone_ns);
}

TEST_CASE("Sizes that were also launched one at a time make a LogGP") {
  model::Run run = run_with_sizes();
  for (const cost_model::Point& point : known_points({4})) {
    auto cell = make_cell(std::string(model::to_string(point.collective)), point.bytes);
    cell.timing.mode = model::TimingMode::latency;
    add_cell(run.trials[0], cell, make_record(4, static_cast<std::int64_t>(point.time_ns + 3000)));
  }

  auto prediction = predict(run, {.ranks = {4}});
  REQUIRE(prediction.has_value());
  auto json = json_of(prediction_report(*prediction));

  REQUIRE(prediction->loggp.size() == 3); // all_reduce, all_gather, reduce_scatter
  const cost_model::LogGp& reduce = prediction->loggp[0];
  CHECK(reduce.latency_ns() - reduce.gap_ns() == Approx(3000).epsilon(0.01));
  CHECK(std::ranges::count(ids_of(prediction_report(*prediction)), "calls_not_timed") == 1);
  CHECK(json["loggp"][0]["L_us"].get<double>() > 0);
  CHECK(json["loggp"][0]["o_us"].is_null());
  CHECK(json["loggp"][0]["G_us_per_mb"].get<double>() > 0);
}
