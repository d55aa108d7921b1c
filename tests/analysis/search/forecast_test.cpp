// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/forecast.h"
#include "analysis/search/simulated_machine.h"
#include "support/catch.h"

#include <algorithm>

using namespace ncclprobe::analysis::search;
using namespace ncclprobe::analysis::search::simulation;

namespace {

// P has 8 values that need fresh processes, R two that do not.
Space space() {
  Space space;
  space.parameters = {{.name = "P", .values = {"", "1", "2", "3", "4", "5", "6", "7", "8"}},
                      {.name = "R", .values = {"", "1", "2"}, .in_process = true}};
  space.targets = {{.name = "1M", .bytes = 1 << 20}, {.name = "4M", .bytes = 4 << 20}};
  return space;
}

Forecast forecast_for(double budget_s) {
  return forecast(space(), {.budget_s = budget_s,
                            .end_s = [](bool screened) { return screened ? 5.0 : 1.0; },
                            .expected_s = SimulatedMachine::expected_s});
}

std::vector<Stage> stages(const Forecast& forecast) {
  std::vector<Stage> out;
  for (const StageForecast& one : forecast.stages)
    out.push_back(one.stage);
  return out;
}

double seconds(const Forecast& forecast) {
  double sum = forecast.end_s;
  for (const StageForecast& one : forecast.stages)
    sum += one.seconds;
  return sum;
}

} // namespace

TEST_CASE("a forecast counts the trials of each stage, and what they take") {
  const Forecast all = forecast_for(300);
  CHECK(all.trial_s == Approx(SimulatedMachine::k_start_s + 2 * SimulatedMachine::k_cell_s));
  REQUIRE(stages(all) == std::vector{Stage::floor, Stage::explore, Stage::screen, Stage::confirm});
  CHECK(all.stages[0].trials == 4);
  CHECK(all.stages[1].combinations == 8);
  CHECK(all.stages[1].all_combinations == 8);
  CHECK(all.stages[1].trials == 11); // three values, one, and four pairs, each with the default
  CHECK(all.stages[1].seconds == Approx(11 * all.trial_s));
  CHECK(all.stages[2].combinations == 4); // two of each target
  CHECK(all.stages[2].all_combinations == 4);
  CHECK(all.end_s == 5);
}

TEST_CASE("a forecast keeps the budget, and gives up what a search gives up") {
  const Forecast part = forecast_for(46);
  REQUIRE(stages(part)[1] == Stage::explore);
  CHECK(part.stages[1].combinations.value() > 0);
  CHECK(part.stages[1].combinations.value() < 8);
  CHECK(seconds(part) <= 46);

  const Forecast without_table = forecast_for(28);
  CHECK(stages(without_table) == std::vector{Stage::floor, Stage::explore, Stage::confirm});
  CHECK(without_table.stages[1].combinations.value() > 0);
  CHECK(seconds(without_table) <= 28);

  CHECK(forecast_for(5).stages[1].combinations == 0u);
}

TEST_CASE("a forecast explores as much as the search then does") {
  for (const double budget_s : {28.0, 46.0, 300.0}) {
    Surface surface{.name = "flat",
                    .kind = {"none", [](auto&) { return 0.0; }, [](auto&, int) { return 0.0; }}};
    surface.space = space();
    surface.log_time = [](const Candidate&, std::size_t) { return 0.0; };
    SimulatedMachine machine(surface, 1);
    Search search(surface.space, {.budget_s = budget_s,
                                  .end_s = [](bool screened) { return screened ? 5.0 : 1.0; },
                                  .expected_s = SimulatedMachine::expected_s});
    std::uint64_t explored = 0;
    for (auto trials = search.next(); !trials.empty(); trials = search.next())
      for (const TrialRequest& trial : trials) {
        explored += trial.stage == Stage::explore && trial.process != Candidate{0, 0} ? 1 : 0;
        search.learn(trial, machine.run(trial));
      }
    INFO(budget_s);
    CHECK(forecast_for(budget_s).stages[1].combinations.value() == explored);
  }
}
