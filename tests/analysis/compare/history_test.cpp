// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/history.h"
#include "analysis/verdict/simulated_noise.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::compare;

namespace {

// `slower_from`: of this place on, 5% slower. Scatter 1%.
std::vector<double> series(simulation::Noise& noise, std::size_t count, std::size_t slower_from) {
  std::vector<double> times_ns;
  for (std::size_t i = 0; i < count; ++i)
    times_ns.push_back(1e4 * (i < slower_from ? 1 : 1.05) * std::exp(0.01 * noise.normal()));
  return times_ns;
}

ComparedRun run_at(std::size_t day, double time_ns, const std::string& nccl = "2.28.3") {
  ComparedRun run;
  run.run_id = run.name = fmt::format("run {}", day);
  run.started_utc = fmt::format("2026-01-{:02}T12:00:00Z", day);
  run.facts = {{FactKind::nccl, "", nccl}};
  RunCell cell;
  cell.key = {.label = {.bytes = 1024}, .ranks = 2, .setting = "default"};
  cell.times_ns = {time_ns};
  run.cells = {cell};
  return run;
}

// Of the mean over all cells, in runs of one cell each.
std::vector<Change> changes_of(const std::vector<double>& times_ns) {
  std::vector<ComparedRun> runs;
  for (std::size_t i = 0; i < times_ns.size(); ++i)
    runs.push_back(run_at(i + 1, times_ns[i]));
  return history_of(std::move(runs)).series.at(0).changes;
}

} // namespace

TEST_CASE("a change of 5% is found where it is, where runs scatter by 1%") {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    simulation::Noise noise(seed);
    const auto changes = changes_in(series(noise, 30, 18), 0.005, seed);
    found += changes.size() == 1 && changes[0].first_after >= 17 && changes[0].first_after <= 19;
  }
  CHECK(found >= 18);
}

TEST_CASE("series without a change rarely show one") {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    simulation::Noise noise(seed);
    found += !changes_in(series(noise, 30, 30), 0.01, seed).empty();
  }
  CHECK(found <= 12); // 4 are expected
}

TEST_CASE("two changes are both found") {
  simulation::Noise noise(1);
  auto times_ns = series(noise, 40, 14);
  for (std::size_t i = 27; i < times_ns.size(); ++i)
    times_ns[i] /= 1.05;

  const auto changes = changes_in(times_ns, 0.005, 1);

  REQUIRE(changes.size() == 2);
  CHECK(changes[0].speed_ratio == Approx(1 / 1.05).epsilon(0.01));
  CHECK(changes[1].speed_ratio == Approx(1.05).epsilon(0.01));
}

TEST_CASE("a history is in the order of its runs, without those of another NCCL") {
  simulation::Noise noise(1);
  const auto times_ns = series(noise, 24, 12);
  std::vector<ComparedRun> runs;
  for (std::size_t i = times_ns.size(); i > 0; --i)
    runs.push_back(run_at(i, times_ns[i - 1]));
  runs.push_back(run_at(25, 1e4));
  runs.push_back(run_at(1, 5e3, "2.27.3"));

  const History history = history_of(runs);

  CHECK(history.other_runs == 1);
  REQUIRE(history.runs.size() == 25);
  CHECK(history.runs.front().name == "run 1");
  REQUIRE(history.series.size() == 2);
  CHECK_FALSE(history.series[0].cell);
  REQUIRE_FALSE(history.series[0].changes.empty());
  CHECK(history.series[0].changes[0].first_after == 12);
}

TEST_CASE("few runs show no change") {
  CHECK(changes_in({1, 1, 1, 2, 2, 2}, 0.01, 1).empty());
  CHECK(changes_in({1, 1, 1, 1, 1, 1, 1, 1, 2, 2}, 0.01, 1).empty()); // 2 of 45 orders
}

TEST_CASE("ten runs show a change in their middle, and rarely one that is none") {
  int found = 0, false_alarms = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    simulation::Noise noise(seed);
    const auto with_change = changes_of(series(noise, 10, 5));
    found += with_change.size() == 1 && with_change[0].first_after == 5;
    false_alarms += !changes_of(series(noise, 10, 10)).empty();
  }
  CHECK(found >= 34);
  CHECK(false_alarms <= 2); // 0.4 are expected
}
