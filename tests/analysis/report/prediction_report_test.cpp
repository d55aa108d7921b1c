// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/example_reports.h"
#include "analysis/report/prediction_report.h"
#include "analysis/run_builder.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;

namespace {

// steps_run() with all-reduces of several sizes on its four ranks: 20 us and 100 bytes a ns.
model::Run run_with_sizes() {
  model::Run run = steps_run();
  for (std::uint64_t bytes = 256 * 1024; bytes <= std::uint64_t{1} << 28; bytes *= 4) {
    auto cell = make_cell("all_reduce", bytes);
    auto time_ns = static_cast<std::int64_t>(20'000 + bytes / 100);
    add_cell(run.trials[0], cell, make_record(4, time_ns));
  }
  return run;
}

} // namespace

TEST_CASE("A prediction prints its errors on what was measured first") {
  auto prediction = predict(
      run_with_sizes(),
      {.model = "gpt2-124m", .ranks = {8, 16}, .inter_node = cost_model::InterNode{50, 5000}});
  REQUIRE(prediction.has_value());

  const std::string text = render_prediction(*prediction);

  auto quality = text.find("How good the model is"), steps = text.find("Steps: computing measured");
  REQUIRE(quality != std::string::npos);
  REQUIRE(steps != std::string::npos);
  CHECK(quality < steps);
  CHECK_THAT(text, ContainsSubstring("each left out in turn: predicted with a median error of"));
  CHECK(prediction->ranks_per_node == 4);
  REQUIRE(prediction->predicted.size() == 2);
  CHECK(prediction->predicted[1].efficiency < prediction->predicted[0].efficiency);
}

TEST_CASE("The prediction's JSON has what its text has") {
  auto prediction = predict(run_with_sizes(), {.model = "gpt2-124m", .ranks = {8}});
  REQUIRE(prediction.has_value());

  auto json = nlohmann::json::parse(render_prediction_json(*prediction));

  CHECK(json["schema"] == "ncclprobe.prediction");
  CHECK(json["computing"] == "measured at 4 ranks");
  CHECK_FALSE(json["left_out_sizes"].is_null());
  CHECK_FALSE(json["collectives"].empty());
  // More ranks than the node has, and nothing said of the network.
  CHECK_THAT(json["predicted"][0]["why_not"].get<std::string>(), ContainsSubstring("--inter-node"));
}

TEST_CASE("A model without steps in the run needs its compute times") {
  PredictionRequest request{.model = "bert-base", .ranks = {4}};

  auto refused = predict(run_with_sizes(), request);
  request.compute = cost_model::StatedCompute{10e6, 20e6, 0, "as stated"};
  auto stated = predict(run_with_sizes(), request);
  request.compute.reset();
  request.flops_per_s = 400e12;
  request.batch = 8;
  auto computed = predict(run_with_sizes(), request);

  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().text(), ContainsSubstring("--forward and --backward"));
  REQUIRE(stated.has_value());
  CHECK(stated->step.alone_ns == 30e6);
  CHECK(stated->predicted[0].step_ns > 30e6);
  REQUIRE(computed.has_value());
  CHECK_THAT(computed->step.source, ContainsSubstring("400 Tflop/s"));
}

TEST_CASE("A run without all-reduces predicts nothing") {
  auto refused = predict(make_gpu_run(2), {.model = "gpt2-124m", .ranks = {4}});

  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().text(), ContainsSubstring("no all-reduce"));
}
