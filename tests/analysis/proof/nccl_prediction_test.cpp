// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/nccl_prediction.h"
#include "analysis/proof/proof_runs.h"
#include "analysis/report/nccl_section.h"
#include "analysis/report/written.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;

TEST_CASE("NCCL's predictions stand beside what was measured, and where its choice loses") {
  model::Run run = predicted_run();
  const auto results = setting_results(run);
  const Verdicts verdicts = judge(results);

  auto predictions = nccl_predictions(run, results, verdicts);

  REQUIRE(predictions.size() == 1);
  const NcclPrediction& one = predictions[0];
  CHECK(one.result->is_default);
  CHECK(one.use.protocol == "LL128");
  CHECK(one.expected.time_us == Approx(20 + 4.0 * k_predicted_floats / 200'000));
  CHECK(one.expected.is_whole);
  REQUIRE(one.faster != nullptr);
  CHECK(one.faster->setting == "NCCL_PROTO=Simple");
  CHECK(one.faster_ratio == Approx(1.25).epsilon(0.01));
  CHECK(one.faster_use.protocol == "SIMPLE");
}

TEST_CASE("The report shows predictions with their ratios") {
  model::Run run = predicted_run();
  const auto results = setting_results(run);
  const Verdicts verdicts = judge(results);

  const std::string text = text_of(nccl_prediction_report(run, results, verdicts));
  const auto json = json_of(nccl_prediction_report(run, results, verdicts), "nccl_predictions");

  CHECK_THAT(text, ContainsSubstring("NCCL's own predictions"));
  CHECK_THAT(text, ContainsSubstring("RING LL128"));
  CHECK_THAT(text, ContainsSubstring("1.25x by RING") && ContainsSubstring("(NCCL_PROTO=Simple)"));
  CHECK_THAT(text, ContainsSubstring("1.22")); // 50.02 / 40.97
  REQUIRE(json.size() == 1);
  CHECK(json[0]["measured_to_predicted"].get<double>() == Approx(50.02 / 40.97).epsilon(0.001));
  CHECK(json[0]["faster"]["setting"] == "NCCL_PROTO=Simple");
}

TEST_CASE("What NCCL itself told of a cell goes before its table") {
  model::Run run = predicted_run();
  model::TrialRecord& asked = run.trials[15];
  asked.evidence[0].log = "ncclprobe: NCCL expects 44.5 us of cell 0\n" + asked.evidence[0].log;
  const auto results = setting_results(run);
  const Verdicts verdicts = judge(results);

  auto predictions = nccl_predictions(run, results, verdicts);

  REQUIRE(predictions.size() == 1);
  CHECK(predictions[0].is_told);
  CHECK(predictions[0].expected.time_us == Approx(44.5));
  CHECK_THAT(text_of(nccl_prediction_report(run, results, verdicts)),
             ContainsSubstring("by NCCL itself (ncclGroupSimulateEnd)"));
  CHECK(json_of(nccl_prediction_report(run, results, verdicts),
                "nccl_predictions")[0]["predicted_by"] == "ncclGroupSimulateEnd");
}

TEST_CASE("A run whose companions logged no table has no such section") {
  model::Run run = predicted_run();
  for (model::TrialRecord& trial : run.trials)
    for (model::Evidence& evidence : trial.evidence)
      evidence.log.clear();
  const auto results = setting_results(run);

  CHECK(text_of(nccl_prediction_report(run, results, judge(results))).empty());
}
