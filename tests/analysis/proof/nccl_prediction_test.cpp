// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/nccl_prediction.h"
#include "analysis/report/nccl_section.h"
#include "analysis/report/written.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

constexpr std::uint64_t k_count = 1 << 20; // f32: 4 MiB

model::Cell predicted_cell() {
  model::Cell cell = make_cell("all_reduce", 4 * k_count);
  cell.schedule.streams = {{"stream"}};
  cell.schedule.communicators = {{"all"}};
  cell.schedule.operations = {{model::CollectiveOp{.count = k_count}, {}}};
  cell.schedule.timed = {0, 1};
  return cell;
}

void add_companion(RunBuilder& run, const std::vector<model::Setting>& settings,
                   const std::string& way) {
  auto trial = run.trial(settings, model::Purpose::companion);
  trial.cell(predicted_cell(), make_record(2, 1000, 0, 1));
  for (int rank = 0; rank < 2; ++rank) {
    model::Evidence evidence{rank, "", "v5", {}};
    evidence.choices = {{0, "AllReduce", "ncclFloat32", k_count, "RING", way, 4, -1}};
    trial->evidence.push_back(evidence);
  }
  trial->evidence[0].log = "n:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 1 localRanks 2\n"
                           "n:1:1 [0] NCCL INFO   Algorithm   |   Ring |\n"
                           "n:1:1 [0] NCCL INFO   Protocol    |   LL128 | Simple |\n"
                           "n:1:1 [0] NCCL INFO  AllReduce | 20.0/ 200.0 | 30.0/ 250.0 |\n";
}

// Default by LL128 in 50 us, NCCL_PROTO=Simple in 40 us.
RunBuilder swept_run() {
  RunBuilder run(2);
  const std::vector<model::Setting> simple{{"NCCL_PROTO", "Simple"}};
  auto measure = [&](const std::vector<model::Setting>& settings, std::int64_t time_ns) {
    run.trial(settings).cell(predicted_cell(), make_record(2, time_ns));
  };
  for (int block = 0; block < 5; ++block) {
    measure({}, 50'000 + 10 * block);
    measure({}, 50'005 + 10 * block);
    measure(simple, 40'000 + 10 * block);
  }
  add_companion(run, {}, "LL128");
  add_companion(run, simple, "SIMPLE");
  return run;
}

} // namespace

TEST_CASE("NCCL's predictions stand beside what was measured, and where its choice loses") {
  model::Run run = swept_run();
  const auto results = setting_results(run);
  const Verdicts verdicts = judge(results);

  auto predictions = nccl_predictions(run, results, verdicts);

  REQUIRE(predictions.size() == 1);
  const NcclPrediction& one = predictions[0];
  CHECK(one.result->is_default);
  CHECK(one.use.protocol == "LL128");
  CHECK(one.expected.time_us == Approx(20 + 4.0 * k_count / 200'000));
  CHECK(one.expected.is_whole);
  REQUIRE(one.faster != nullptr);
  CHECK(one.faster->setting == "NCCL_PROTO=Simple");
  CHECK(one.faster_ratio == Approx(1.25).epsilon(0.01));
  CHECK(one.faster_use.protocol == "SIMPLE");
}

TEST_CASE("The report shows predictions with their ratios") {
  model::Run run = swept_run();
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
  model::Run run = swept_run();
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
  model::Run run = swept_run();
  for (model::TrialRecord& trial : run.trials)
    for (model::Evidence& evidence : trial.evidence)
      evidence.log.clear();
  const auto results = setting_results(run);

  CHECK(text_of(nccl_prediction_report(run, results, judge(results))).empty());
}
