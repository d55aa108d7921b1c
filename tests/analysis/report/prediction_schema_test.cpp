// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What programs may rely on in the JSON of predictions: docs/schemas.
#include "analysis/predict/step_runs.h"
#include "analysis/report/prediction_report.h"
#include "analysis/report/written.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"
#include "support/run_builder.h"
#include "workload/models/catalogue.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

void add_collectives(model::Run& run, int ranks, model::TimingMode mode, double more_ns) {
  for (const cost_model::Point& point : known_points({ranks})) {
    auto cell = make_cell(std::string(model::to_string(point.collective)), point.bytes);
    cell.timing.mode = mode;
    add_cell(run.trials[0], cell,
             make_record(ranks, static_cast<std::int64_t>(point.time_ns + more_ns)));
  }
}

// One number of ranks, and no collective by itself: nothing can be left out to check the model.
model::Run run_of_steps_alone() {
  workload::StepRequest request;
  request.model = *workload::make_model("linear:256x8");
  request.batch = 64;
  request.bucket_bytes = 600'000;
  return known_run(request, {4}, {1, 1.001});
}

} // namespace

TEST_CASE("The JSON of predictions has the fields and types of its schema") {
  JsonSchema schema;
  schema.add_names("severity", Severity{});
  model::Run latency = run_with_sizes();
  add_collectives(latency, 4, model::TimingMode::latency, 3000);
  const cost_model::InterNodeRange wires{{50, 5000}, {50, 5000}};
  for (const model::Run& run :
       {run_with_sizes(), run_with_sizes({1}), latency, run_of_steps_alone()})
    for (const PredictionRequest& request :
         {PredictionRequest{.ranks = {8, 16}, .inter_node = wires},
          PredictionRequest{.ranks = {8}}}) {
      auto prediction = predict(run, request);
      REQUIRE(prediction.has_value());
      schema.add(written(prediction_report(*prediction), Format::json));
    }

  check_document("docs/schemas/prediction.json", schema.text("ncclprobe predict --format json"));
}
