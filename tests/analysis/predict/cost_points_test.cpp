// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/cost_points.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::cost_model;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

TEST_CASE("Collectives with default settings are points, out of place before in place") {
  RunBuilder run(2);
  auto plain = run.trial()
                   .cell("all_reduce", 4096, 3000)
                   .cell("all_reduce", 4096, 2000, {.placement = model::Placement::in_place})
                   .cell("all_gather", 1024, 2000, {.placement = model::Placement::in_place})
                   .cell("all_reduce", 1024, 1000);
  for (model::Sample& sample : plain->cells[3].samples)
    sample.launch_ns = 700 * sample.iterations;
  run.trial({{"NCCL_ALGO", "Tree"}}).cell("all_reduce", 8192, 9000);

  auto points = cost_points(run, setting_results(run));

  REQUIRE(points.size() == 3);
  CHECK(points[0].bytes == 1024);
  CHECK(points[0].launch_ns == 700.0);
  CHECK_FALSE(points[1].launch_ns.has_value());
  CHECK(points[1].bytes == 4096);
  CHECK(points[1].time_ns == Approx(3000.5)); // mean over ranks
  CHECK(points[2].collective == model::Collective::all_gather);
}

TEST_CASE("Buckets of a step without computing are points too") {
  RunBuilder run(2);
  auto trial = run.trial();
  model::StepLabel label{.model = "m", .ranks = {0, 1}};
  for (auto parts : {model::StepParts::all, model::StepParts::communication}) {
    label.parts = parts;
    add_step_cell(*trial, {.label = label});
  }

  auto points = cost_points(run, setting_results(run));

  REQUIRE(points.size() == 2);
  CHECK(points[0].ranks == 2);
  CHECK(points[0].bytes == 1024); // 256 of f32
  CHECK(points[0].time_ns + points[1].time_ns == Approx(80 + 60));
  CHECK(points[0].algorithm.empty());
}

TEST_CASE("Buckets are carried out as the step's companion saw all of them") {
  RunBuilder run(2);
  run.trial();
  run.trial({}, model::Purpose::companion);
  const model::StepLabel label{
      .model = "m", .ranks = {0, 1}, .parts = model::StepParts::communication};
  for (model::TrialRecord& trial : run.trials)
    add_step_cell(trial, {.label = label});
  for (int rank = 0; rank < 2; ++rank) {
    model::Evidence evidence{rank, "", "v5", {}};
    evidence.log = fmt::format("node01:1:1 [{}] NCCL INFO comm 0x1 rank {} nRanks 2 nNodes 1 "
                               "localRanks 2 localRank {} MNNVL 0\n",
                               rank, rank, rank);
    evidence.choices = {{0, "AllReduce", "ncclFloat32", 256, "RING", "LL", 4, -1},
                        {0, "AllReduce", "ncclFloat32", 256, "RING", "LL", 2, -1}};
    run.trials[1].evidence.push_back(std::move(evidence));
  }

  auto points = cost_points(run, setting_results(run));

  REQUIRE(points.size() == 2);
  CHECK(points[0].algorithm == "RING");
  CHECK(points[1].protocol == "LL");
}

TEST_CASE("A stretch moves what its one collective moves") {
  auto schedule = step_schedule({0, 1});
  for (auto& operation : schedule.operations)
    if (auto* one = std::get_if<model::CollectiveOp>(&operation.what)) {
      one->collective = model::Collective::all_gather;
      break;
    }

  auto moved = moved_by(schedule, 2);

  REQUIRE(moved.size() == 2);
  CHECK(*moved[0] == Moved{model::Collective::all_gather, 2, 2048});
  CHECK(*moved[1] == Moved{model::Collective::all_reduce, 2, 1024});
}

TEST_CASE("Groups of ranks that do the same at once are one point, others are none") {
  auto schedule = step_schedule({0, 1});
  schedule.communicators.push_back({"others", {2, 3}});
  auto first = std::find_if(schedule.operations.begin(), schedule.operations.end(),
                            [](const model::Operation& one) {
                              return std::holds_alternative<model::CollectiveOp>(one.what);
                            });
  auto beside = std::get<model::CollectiveOp>(first->what);
  beside.communicator = 1;
  first = schedule.operations.insert(first, {beside, {}});
  ++schedule.timed.last;

  auto alike = moved_by(schedule, 4);
  std::get<model::CollectiveOp>(first->what).count *= 2;
  auto different = moved_by(schedule, 4);

  REQUIRE(alike.size() == 2);
  CHECK(*alike[0] == Moved{model::Collective::all_reduce, 2, 1024});
  CHECK_FALSE(different[0].has_value());
}
