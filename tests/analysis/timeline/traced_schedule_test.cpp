// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/traced_schedule.h"
#include "support/catch.h"
#include "workload/models/catalogue.h"
#include "workload/step_cells.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

// An all-reduce of ranks 0 and 1 of four, and a message from 0 to 1.
model::TrialSpec small_trial() {
  model::TrialSpec trial;
  trial.ranks = 4;
  model::Cell& cell = trial.cells.emplace_back();
  cell.schedule.communicators = {{"pair", {0, 1}}, {"all", {}}};
  cell.schedule.operations = {
      {model::CollectiveOp{.count = 100}, {}},
      {model::CollectiveOp{.communicator = 1, .count = 10}, {}},
      {model::SendOp{.count = 4, .to = {model::Peer::Kind::absolute, 1}}, {0}},
      {model::RecvOp{.count = 4, .from = {model::Peer::Kind::absolute, 0}}, {1}}};
  cell.schedule.timed = {0, 4};
  return trial;
}

} // namespace

TEST_CASE("A schedule tells who takes part in a collective and what operations move") {
  const model::TrialSpec trial = small_trial();
  const TransfersByPlace transfers = transfers_in(trial);

  CHECK(participants_in(trial, 4, {0, 0}) == 2);
  CHECK(participants_in(trial, 4, {0, 1}) == 4);
  for (OperationPlace none : {OperationPlace{0, 2}, {0, 4}, {1, 0}, {-1, 0}, {0, -1}})
    CHECK(participants_in(trial, 4, none) == 0);
  CHECK(bytes_on_rank(trial, transfers, {0, 0}, 3) == 400); // of f32
  CHECK(bytes_on_rank(trial, transfers, {0, 2}, 0) == 16);
  CHECK(bytes_on_rank(trial, transfers, {0, 2}, 1) == 0); // rank 1 only receives
  CHECK(bytes_on_rank(trial, transfers, {0, 3}, 1) == 16);
  CHECK(bytes_on_rank(trial, transfers, {3, 0}, 0) == 0);
}

TEST_CASE("An operation of a whole step is found in the step without the rest") {
  workload::StepRequest request;
  request.model = *workload::make_model("linear:256x2");
  auto made = workload::make_step_cells({.steps = {request}, .rank_sets = {{0, 1}}}, 2, {});
  REQUIRE(made);
  model::TrialSpec trial;
  trial.ranks = 2;
  trial.cells = made->cells;

  const AlonePlaces places = alone_places(trial);

  REQUIRE_FALSE(places.empty());
  for (const auto& [from, to] : places) {
    CHECK(from.first != to.cell);
    const auto& whole = trial.cells[static_cast<std::size_t>(from.first)].schedule;
    const auto& alone = trial.cells[static_cast<std::size_t>(to.cell)].schedule;
    CHECK(whole.operations[static_cast<std::size_t>(from.second)].what.index() ==
          alone.operations[static_cast<std::size_t>(to.index)].what.index());
  }
}
