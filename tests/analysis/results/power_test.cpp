// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"
#include "analysis/report/power_section.h"
#include "analysis/report/written.h"
#include "analysis/results/power.h"
#include "analysis/steps/step_builder.h"
#include "base/text_layout.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using When = model::Condition::When;

namespace {

constexpr std::int64_t k_ms = 1'000'000;

void read(model::CellRecord& record, int rank, When when, std::int64_t at_ms, int watts) {
  model::Condition one;
  one.rank = rank;
  one.when = when;
  one.at_ns = at_ms * k_ms;
  one.power_mw = watts * 1000;
  record.conditions.push_back(one);
}

// 2 ranks, 1 MiB in 10 us: some 105 GB/s of busbw.
model::CellRecord record() {
  return make_record(2, 10'000);
}

RunBuilder run_of(const std::vector<model::CellRecord>& processes) {
  RunBuilder run(2);
  for (const model::CellRecord& one : processes)
    run.trial().cell(make_cell("all_reduce", 1 << 20), one);
  return run;
}

} // namespace

TEST_CASE("power is the mean of what was read once the cell had run for a second") {
  model::CellRecord cell = record();
  for (int rank : {0, 1}) {
    read(cell, rank, When::before, 5, 90);
    read(cell, rank, When::during, 1005, 300 + 100 * rank);
    read(cell, rank, When::during, 1505, 320 + 100 * rank);
    read(cell, rank, When::after, 1800, 340 + 100 * rank);
  }
  model::Run run = run_of({cell});
  auto results = setting_results(run);

  auto figures = power_figures(run, results);

  REQUIRE(figures.size() == 1);
  CHECK(figures[0].rank_w == std::map<int, double>{{0, 320.0}, {1, 420.0}});
  CHECK(figures[0].gpu_w == Approx(370));
  CHECK(*figures[0].busbw_per_w == Approx(*results[0].busbw_gb_per_s / 370));
}

TEST_CASE("a short cell has no power, whatever was read after it") {
  model::CellRecord cell = record();
  read(cell, 0, When::before, 0, 90);
  read(cell, 0, When::after, 400, 300);
  model::Run run = run_of({cell});
  auto results = setting_results(run);

  CHECK(power_figures(run, results).empty());
  CHECK(text_of(power_report(run, results)).empty());
  CHECK(json_of(power_report(run, results), "power").empty());
}

TEST_CASE("the counter of energy comes before readings of power, where every GPU has it") {
  model::CellRecord counted = record();
  for (int rank : {0, 1}) {
    read(counted, rank, When::before, 5, 90);
    read(counted, rank, When::during, 1505, 320);
    read(counted, rank, When::after, 2005, 340);
  }
  model::CellRecord half = counted;
  for (model::Condition& one : counted.conditions) // 300 W, and 400 W on rank 1
    one.energy_mj = 7'000'000 + (one.at_ns / k_ms - 5) * (300 + 100 * one.rank);
  for (model::Condition& one : half.conditions)
    if (one.rank == 0)
      one.energy_mj = 7'000'000 + one.at_ns / k_ms;
  model::Run run = run_of({counted}), other = run_of({half});
  auto results = setting_results(run), others = setting_results(other);

  auto figures = power_figures(run, results), without = power_figures(other, others);

  REQUIRE(figures.size() == 1);
  CHECK(figures[0].source == PowerSource::energy_counter);
  CHECK(figures[0].rank_w[0] == Approx(300));
  CHECK(figures[0].rank_w[1] == Approx(400));
  const auto json = json_of(power_report(run, results), "power")[0];
  CHECK(json["power_from"] == "energy_counter");
  CHECK(json["energy_j"].get<double>() == Approx(700 * results[0].time_ns / 1e9));
  REQUIRE(without.size() == 1);
  CHECK(without[0].source == PowerSource::power_readings);
  CHECK(without[0].gpu_w == Approx(330));
}

TEST_CASE("a counter that began anew, or a short cell, gives no power") {
  for (const auto& [seconds, last_mj] : {std::pair(2, 5), std::pair(0, 900'000)}) {
    model::CellRecord cell = record();
    read(cell, 0, When::before, 0, 90);
    read(cell, 0, When::after, seconds * 1000 + 500, 300);
    cell.conditions[0].energy_mj = 10;
    cell.conditions[1].energy_mj = last_mj;
    model::Run run = run_of({cell});
    auto results = setting_results(run);

    for (const PowerFigure& one : power_figures(run, results))
      CHECK(one.source == PowerSource::power_readings);
  }
}

TEST_CASE("processes without readings are left out of the mean, and counted") {
  model::CellRecord one = record(), two = record();
  read(one, 0, When::during, 1000, 300);
  read(two, 0, When::during, 1000, 400);
  model::Run run = run_of({one, record(), two});
  auto results = setting_results(run);

  auto figures = power_figures(run, results);

  REQUIRE(figures.size() == 1);
  CHECK(figures[0].gpu_w == Approx(350));
  CHECK(figures[0].processes == 2);
}

TEST_CASE("wrong data has power and no bandwidth for it") {
  model::CellRecord cell = record();
  cell.check.wrong = 1;
  cell.outcome.kind = model::OutcomeKind::wrong_data;
  read(cell, 0, When::during, 1000, 300);
  model::Run run = run_of({cell});
  auto results = setting_results(run);

  auto figures = power_figures(run, results);

  REQUIRE(figures.size() == 1);
  CHECK_FALSE(figures[0].busbw_per_w);
}

TEST_CASE("power is reported by GPU and in all, with busbw per watt") {
  model::CellRecord cell = record();
  read(cell, 0, When::during, 1000, 300);
  read(cell, 1, When::during, 1000, 400);
  model::Run run = run_of({cell});
  auto results = setting_results(run);

  std::string text = text_of(power_report(run, results));
  auto json = json_of(power_report(run, results), "power");

  CHECK_THAT(text, ContainsSubstring("all_reduce") && ContainsSubstring("300-400") &&
                       ContainsSubstring("700"));
  REQUIRE(json.size() == 1);
  CHECK(json[0]["gpu_power_w"] == 350.0);
  CHECK(json[0]["gpus"][1]["power_w"] == 400.0);
  CHECK(json[0]["busbw_gb_per_s_per_w"].get<double>() == Approx(*results[0].busbw_gb_per_s / 350));
}

TEST_CASE("rows of power are told apart by placement and mode, and fit the report") {
  RunBuilder run(2);
  auto trial = run.trial({{"NCCL_BUFFSIZE", "16777216"}});
  model::Cell cell = make_cell("reduce_scatter", 1'048'572, model::Placement::in_place);
  cell.label.type = model::DataType::f8e4m3;
  for (auto mode : {model::TimingMode::batch, model::TimingMode::latency}) {
    cell.timing.mode = mode;
    model::CellRecord one = record();
    read(one, 0, When::during, 1000, 650);
    read(one, 1, When::during, 1000, 1000);
    trial.cell(cell, std::move(one));
  }
  auto results = setting_results(run);

  std::string text = text_of(power_report(run, results));

  CHECK_THAT(text, ContainsSubstring("in place") && ContainsSubstring("one at"));
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    CHECK(text.find('\n', at) - at <= static_cast<std::size_t>(k_report_columns));
  CHECK(json_of(power_report(run, results), "power")[1]["timing_mode"] == "latency");
}

TEST_CASE("a rank that only looks on at a step is none of its power") {
  RunBuilder run(2);
  add_step_cell(*run.trial(), {.label = {.model = "m", .ranks = {1}}, .lengths = {{}}});
  read(run.trials[0].cells[0], 0, When::during, 1000, 100);
  read(run.trials[0].cells[0], 1, When::during, 1000, 500);
  auto results = setting_results(run);

  auto figures = power_figures(run, results);

  REQUIRE(figures.size() == 1);
  CHECK(figures[0].rank_w == std::map<int, double>{{1, 500.0}});
  CHECK_FALSE(figures[0].busbw_per_w);
}
