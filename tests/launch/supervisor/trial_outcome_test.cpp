// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trial_lab.h"

#include "launch/supervisor/trial_outcome.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::launch;
using model::OutcomeKind;

namespace {

// A rank that ended cells 0 .. ended-1 and is in the next one.
RankReport rank_after(int rank, int ended) {
  RankReport report{rank, WorkerPhase::cell, ended, {}};
  for (int cell = 0; cell < ended; ++cell)
    report.results[cell] = {{},
                            {true, 10, 0, "", ""},
                            {{rank, 0, 20, 100 * cell + rank}, {rank, 1, 20, 100 * cell + rank}}};
  return report;
}

WorkerReport worker_of(RankReport rank) {
  WorkerReport worker;
  worker.record.ranks = {rank.rank};
  worker.record.output_tail = "some output";
  worker.ranks = {std::move(rank)};
  return worker;
}

// Two supervisors of two ranks each; how many cells each rank ended.
std::vector<TrialReport> reports_after(std::vector<int> ended) {
  std::vector<TrialReport> reports(2);
  for (int rank = 0; rank < 4; ++rank)
    reports[static_cast<std::size_t>(rank / 2)].workers.push_back(
        worker_of(rank_after(rank, ended[static_cast<std::size_t>(rank)])));
  return reports;
}

model::TrialSpec some_spec() {
  return test_launch::make_spec(4, 3);
}

} // namespace

TEST_CASE("marks of all ranks are kept, by rank") {
  std::vector<TrialReport> reports = reports_after({3, 3, 3, 3});
  for (TrialReport& report : reports)
    for (WorkerReport& worker : report.workers)
      for (int step : {0, 1})
        worker.ranks[0].results[2].marks.push_back({worker.ranks[0].rank, 0, step, 5, 10 * step});

  model::TrialRecord record = make_record(some_spec(), std::nullopt, reports);

  REQUIRE(record.cells.at(2).marks.size() == 8);
  for (int i = 0; i < 8; ++i)
    CHECK(record.cells[2].marks[static_cast<std::size_t>(i)] ==
          model::Mark{i / 2, 0, i % 2, 5, 10 * (i % 2)});
  CHECK(record.cells[1].marks.empty());
}

TEST_CASE("a trial that ended on all ranks is ok, with samples by batch and then rank") {
  model::TrialRecord record = make_record(some_spec(), std::nullopt, reports_after({3, 3, 3, 3}));

  CHECK(record.outcome.ok());
  REQUIRE(record.cells.size() == 3);
  CHECK(record.cells[1].check.elements == 40);
  std::vector<std::pair<int, int>> order;
  for (const model::Sample& sample : record.cells[1].samples)
    order.emplace_back(sample.batch, sample.rank);
  CHECK(order == std::vector<std::pair<int, int>>{
                     {0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}, {1, 3}});
  CHECK(record.workers.at(3).ranks == std::vector<int>{3});
  CHECK(record.workers.at(3).output_tail.empty()); // kept only for what is not ok
}

TEST_CASE("cells that ended on all ranks survive a crash; the one in flight gets it, later ones "
          "did not run") {
  Trouble crash{Trouble::Kind::signalled,
                "ended with signal 11 (Segmentation fault)",
                {2},
                WorkerPhase::cell,
                1,
                0};

  model::TrialRecord record = make_record(some_spec(), crash, reports_after({2, 1, 1, 2}));

  CHECK(record.cells[0].outcome.ok());
  CHECK(record.cells[0].samples.size() == 8);
  CHECK(record.cells[1].outcome.kind == OutcomeKind::crashed); // though ranks 0 and 3 ended it
  CHECK(record.cells[1].outcome.ranks == std::vector<int>{2});
  CHECK(record.cells[1].outcome.reason ==
        "rank 2 in cell 1 (all_reduce 1K f32): ended with signal 11 (Segmentation fault)");
  CHECK(record.cells[1].samples.empty());
  CHECK(record.cells[2].outcome.kind == OutcomeKind::not_run);
  CHECK(record.outcome == record.cells[1].outcome);
  CHECK(record.workers[0].output_tail == "some output");
}

TEST_CASE("a missed deadline names who was stuck and who was not") {
  Trouble late{Trouble::Kind::timed_out, "", {1}, WorkerPhase::cell, 1, 30'000'000'000};

  model::TrialRecord record = make_record(some_spec(), late, reports_after({2, 1, 2, 2}));

  CHECK(record.cells[1].outcome.kind == OutcomeKind::timed_out);
  CHECK(record.cells[1].outcome.reason ==
        "rank 1 did not finish all_reduce 1K f32 within 30 s (ranks 0,2,3 did); ranks 0-3: "
        "all_reduce 1K f32; probable cause: rank 1 or its connection to the others, which finished "
        "this "
        "operation");
}

TEST_CASE("a start-up that failed is every cell's outcome") {
  std::vector<TrialReport> reports = reports_after({0, 0, 0, 0});
  for (TrialReport& report : reports)
    for (WorkerReport& worker : report.workers)
      worker.ranks[0] = {worker.record.ranks[0], WorkerPhase::communicator_init, -1, {}};
  SECTION("by an error") {
    Trouble error{
        Trouble::Kind::failed, "no interface", {0, 1, 2, 3}, WorkerPhase::communicator_init, -1, 0};
    model::TrialRecord record = make_record(some_spec(), error, reports);
    for (const model::CellRecord& cell : record.cells)
      CHECK(cell.outcome.kind == OutcomeKind::failed);
    CHECK(record.outcome.reason == "ranks 0-3 in communicator_init: no interface");
  }
  SECTION("by a deadline") {
    Trouble late{Trouble::Kind::timed_out,       "", {1},
                 WorkerPhase::communicator_init, -1, 500'000'000};
    model::TrialRecord record = make_record(some_spec(), late, reports);
    CHECK(record.outcome.reason ==
          "ranks 0-3 were not ready within 500 ms (last seen in communicator_init); ranks 0-3: "
          "communicator init; probable cause: unknown: see the stacks of the workers");
  }
  SECTION("because it cannot be done here") {
    Trouble skip{Trouble::Kind::skipped, "no GPU", {0}, WorkerPhase::ready, -1, 0};
    model::TrialRecord record = make_record(some_spec(), skip, reports);
    CHECK(record.outcome == model::Outcome{OutcomeKind::skipped, "no GPU", {0}});
    CHECK(record.cells[2].outcome.kind == OutcomeKind::skipped);
  }
}

TEST_CASE("a skip in the middle leaves the trial skipped, not merely not run") {
  Trouble skip{Trouble::Kind::skipped, "no such function", {0}, WorkerPhase::cell, 1, 0};

  model::TrialRecord record = make_record(some_spec(), skip, reports_after({1, 1, 1, 1}));

  CHECK(record.cells[0].outcome.ok());
  CHECK(record.cells[1].outcome.kind == OutcomeKind::skipped);
  CHECK(record.cells[2].outcome.kind == OutcomeKind::not_run);
  CHECK(record.outcome.kind == OutcomeKind::skipped);
}

TEST_CASE("an interruption leaves what had ended, and takes the rest as not run") {
  Trouble stop{Trouble::Kind::interrupted, "interrupted", {}, {}, -1, 0};

  model::TrialRecord midway = make_record(some_spec(), stop, reports_after({1, 1, 1, 2}));
  model::TrialRecord at_the_end = make_record(some_spec(), stop, reports_after({3, 3, 3, 3}));

  CHECK(midway.cells[0].outcome.ok());
  CHECK(midway.cells[1].outcome == model::Outcome{OutcomeKind::not_run, "interrupted", {}});
  CHECK(midway.outcome.kind == OutcomeKind::not_run);
  CHECK(at_the_end.outcome.ok());
}

TEST_CASE("of the ranks' outcomes of a cell the gravest counts, and names its ranks") {
  std::vector<TrialReport> reports = reports_after({3, 3, 3, 3});
  reports[1].workers[0].ranks[0].results[0].outcome = {OutcomeKind::wrong_data, "element 5", {}};
  reports[1].workers[0].ranks[0].results[0].check = {true, 10, 4, "element 5", ""};
  reports[0].workers[0].ranks[0].results[1].check = {false, 0, 0, "", "no data"};

  model::TrialRecord record = make_record(some_spec(), std::nullopt, reports);

  CHECK(record.cells[0].outcome == model::Outcome{OutcomeKind::wrong_data, "element 5", {2}});
  CHECK(record.cells[0].check.wrong == 4);
  CHECK(record.cells[0].check.first_wrong == "element 5");
  CHECK_FALSE(record.cells[1].check.checked);
  CHECK(record.cells[1].check.why_unchecked == "no data");
  CHECK(record.outcome.kind == OutcomeKind::wrong_data);
}

TEST_CASE("a worker that outlived SIGKILL spoils the trial and is named") {
  std::vector<TrialReport> reports = reports_after({3, 3, 3, 3});
  reports[0].workers[1].lost = true;
  reports[0].workers[1].record.pid = 4711;
  reports[0].workers[1].record.host = "node1";

  model::TrialRecord record = make_record(some_spec(), std::nullopt, reports);

  CHECK(record.outcome.kind == OutcomeKind::failed);
  CHECK(record.outcome.reason == "rank 1 (pid 4711 on node1) outlived SIGKILL: the device counts "
                                 "as lost");
  CHECK(record.cells[2].outcome.ok());
}

TEST_CASE("ranks that were never reported leave no cell ok") {
  Trouble lost{Trouble::Kind::failed, "no report from supervisor 1", {}, {}, -1, 0};
  std::vector<TrialReport> reports = reports_after({3, 3, 3, 3});
  reports[1] = {};

  model::TrialRecord record = make_record(some_spec(), lost, reports);

  CHECK(record.cells[0].outcome.kind == OutcomeKind::failed);
  CHECK(record.cells[1].outcome.kind == OutcomeKind::not_run);
}
