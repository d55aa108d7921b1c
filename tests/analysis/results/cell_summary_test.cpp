// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/cell_summary.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::support;

namespace {

// Default settings, one all_reduce of 1000 bytes on two ranks, in one process per time.
RunBuilder run_of_processes(const std::vector<std::int64_t>& times_ns) {
  RunBuilder run(2);
  for (std::int64_t time_ns : times_ns)
    run.trial().cell("all_reduce", 1000, time_ns, {.step_ns = 10});
  return run;
}

} // namespace

TEST_CASE("a batch's time is the mean over ranks of elapsed time over iterations") {
  auto time = cell_time({{0, 0, 10, 1000}, {1, 0, 10, 3000}, {0, 1, 20, 2000}, {1, 1, 20, 8000}});

  REQUIRE(time.has_value());
  CHECK(time->batch_ns == std::vector<double>{200, 250});
  CHECK(time->over_batches_ns.median == 225.0);
  CHECK(*time->rank_ns == RankValues{{0, 100}, {1, 350}});
}

TEST_CASE("a batch that lacks a rank is left out") {
  auto time = cell_time({{0, 0, 1, 100}, {1, 0, 1, 200}, {0, 1, 1, 1}});

  REQUIRE(time.has_value());
  CHECK(time->batch_ns == std::vector<double>{150});
}

TEST_CASE("no complete batch means no time") {
  CHECK_FALSE(cell_time({}).has_value());
  CHECK_FALSE(cell_time({{0, 0, 1, 100}, {1, 1, 1, 200}}).has_value());
  CHECK_FALSE(cell_time({{0, 0, 0, 100}}).has_value());
}

TEST_CASE("the slowest rank is named only if ranks differ") {
  CHECK(slowest_rank({{0, 10}, {1, 30}, {2, 30}})->rank == 1);
  CHECK_FALSE(slowest_rank({{0, 10}, {1, 10}}).has_value());
  CHECK_FALSE(slowest_rank({{0, 10}}).has_value());
}

TEST_CASE("a setting's time is the median over processes, its spread that of the processes") {
  auto results = setting_results(run_of_processes({100, 400, 200}));

  REQUIRE(results.size() == 1);
  const SettingResult& result = results[0];
  CHECK(result.setting == "default");
  CHECK(result.is_default);
  // per process: median over batches (+10) of the mean over ranks (+0.5)
  CHECK(result.time_ns == 210.5);
  CHECK(result.lowest_ns == 110.5);
  CHECK(result.highest_ns == 410.5);
  CHECK(result.spread_over == SettingResult::SpreadOver::processes);
  CHECK(result.spread_count == 3);
  CHECK(*result.spread_percent == Approx(100 * 300 / 210.5));
  CHECK(*result.algbw_gb_per_s == Approx(1000 / 210.5));
  CHECK(*result.busbw_gb_per_s == Approx(1000 / 210.5)); // 2(n-1)/n = 1 at two ranks
  CHECK(result.slowest->rank == 1);
}

TEST_CASE("with one process the spread is that of its batches") {
  auto results = setting_results(run_of_processes({100}));

  REQUIRE(results.size() == 1);
  CHECK(results[0].spread_over == SettingResult::SpreadOver::batches);
  CHECK(results[0].spread_count == 3);
  CHECK(results[0].lowest_ns == 100.5);
  CHECK(results[0].highest_ns == 120.5);
}

TEST_CASE("one batch in one process has no spread") {
  RunBuilder run(2);
  run.trial().cell("all_reduce", 8, 100, {.batches = 1});

  auto results = setting_results(run);

  REQUIRE(results.size() == 1);
  CHECK(results[0].spread_over == SettingResult::SpreadOver::nothing);
  CHECK_FALSE(results[0].spread_percent.has_value());
}

TEST_CASE("the same cell twice in one trial counts as one process") {
  RunBuilder run(2);
  run.trial().cell("all_reduce", 8, 100).cell("all_reduce", 8, 300);

  auto results = setting_results(run);

  REQUIRE(results.size() == 1);
  CHECK(results[0].processes.size() == 1);
  CHECK(results[0].processes[0].time.batch_ns.size() == 6);
  CHECK(results[0].time_ns == 200.5);
}

TEST_CASE("settings, sizes and placements are kept apart, the default first") {
  RunBuilder run(2);
  run.trial({{"NCCL_ALGO", "Tree"}}).cell("all_reduce", 64, 100);
  run.trial()
      .cell("broadcast", 8, 100)
      .cell("all_reduce", 64, 100)
      .cell("all_reduce", 8, 100, {.placement = model::Placement::in_place})
      .cell("all_reduce", 8, 100);

  std::vector<std::string> order;
  for (const SettingResult& result : setting_results(run))
    order.push_back(fmt::format("{} {} {} {}", result.label.workload(), result.label.bytes,
                                model::to_string(result.label.placement), result.setting));

  CHECK(order == std::vector<std::string>{"all_reduce 8 out_of_place default",
                                          "all_reduce 8 in_place default",
                                          "all_reduce 64 out_of_place default",
                                          "all_reduce 64 out_of_place NCCL_ALGO=Tree",
                                          "broadcast 8 out_of_place default"});
}

TEST_CASE("settings with different values on some ranks are not pooled") {
  RunBuilder run = run_of_processes({100, 200});
  run.trials[1].spec.process.per_rank[1] = {{"NCCL_HOSTID", "b"}};

  CHECK(setting_results(run).size() == 2);
}

TEST_CASE("in-process settings make a setting of their own") {
  RunBuilder run = run_of_processes({100});
  run.trials[0].spec.cells[0].settings = {{"algorithm", "Ring"}};

  auto results = setting_results(run);

  REQUIRE(results.size() == 1);
  CHECK(results[0].setting == "algorithm=Ring");
  CHECK_FALSE(results[0].is_default);
}

TEST_CASE("cells that ended before a crash count, the others do not") {
  RunBuilder run(2);
  run.trial()
      .cell("all_reduce", 8, 100)
      .cell("all_reduce", 16, 100,
            {.outcome = {model::OutcomeKind::crashed, "worker of rank 1 died", {1}}});

  auto results = setting_results(run);

  REQUIRE(results.size() == 1);
  CHECK(results[0].label.bytes == 8);
}

TEST_CASE("wrong data in one process marks the setting") {
  RunBuilder run = run_of_processes({100, 200});
  run.trials[1].cells[0].outcome = {model::OutcomeKind::wrong_data, "2 elements wrong", {1}};
  run.trials[1].cells[0].check.wrong = 2;
  run.trials[1].cells[0].check.first_wrong = "rank 1 element 17: 5 instead of 6";

  auto results = setting_results(run);

  REQUIRE(results.size() == 1);
  CHECK(results[0].data == DataState::wrong);
  REQUIRE(results[0].data_notes.size() == 1);
  CHECK(results[0].data_notes[0] == "2 of 1024 elements wrong, rank 1 element 17: 5 instead of 6");
}

TEST_CASE("one unchecked process makes the setting unchecked, with the reason") {
  RunBuilder run = run_of_processes({100, 200});
  run.trials[0].cells[0].check = {};
  run.trials[0].cells[0].check.why_unchecked = "in place";

  auto results = setting_results(run);

  CHECK(results[0].data == DataState::unchecked);
  CHECK(results[0].data_notes == std::vector<std::string>{"in place"});
}

TEST_CASE("n of busbw is the size of the communicator that is timed") {
  RunBuilder run(8);
  auto trial = run.trial();
  auto cell = make_cell("all_reduce", 1000);
  cell.schedule.communicators = {{"world", {}}, {"half", {0, 2, 4, 6}}};
  model::CollectiveOp operation;
  operation.communicator = 1;
  cell.schedule.operations = {{model::BarrierOp{}, {}}, {operation, {}}};
  cell.schedule.timed = {1, 2};

  CHECK(communicator_size(trial->spec, cell) == 4);
  CHECK(communicator_size(trial->spec, make_cell("all_reduce", 8)) == 8);
}
