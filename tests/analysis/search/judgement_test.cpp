// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/judgement.h"
#include "support/catch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

using namespace ncclprobe::analysis::search;

namespace {

constexpr double k_min_gain = 0.02;
constexpr ErrorRates k_rates{.winner = 0.01, .further_row = 0.05};
const Candidate k_default{0, 0}, k_settings{1, 0}, k_row{0, 1}, k_settings_and_row{1, 1};

Space two_targets() {
  return {.parameters = {{"CTAS", {"1", "2"}}, {"algorithm", {"Ring", "Tree"}, true}},
          .targets = {{"all_reduce 1M"}, {"all_reduce 4M"}}};
}

// Of one target, relative to the default's.
struct Times {
  double row = 1, settings = 1, settings_and_row = 1;
  double scatter = 0.001; // from process to process
};
enum class Confirmed : std::uint8_t { rows, settings_and_rows };

Judgement judged(const std::array<Times, 2>& times, Confirmed what = Confirmed::settings_and_rows) {
  const bool with_settings = what == Confirmed::settings_and_rows;
  Evidence evidence;
  for (double deviation : {-1.0, 0.0, 1.0, -0.5, 0.5, 0.0}) {
    MeasuredTrial by_default({.stage = Stage::confirm, .process = k_default});
    MeasuredTrial by_settings({.stage = Stage::confirm, .process = k_settings});
    for (std::size_t target = 0; target < times.size(); ++target) {
      const Times& of = times[target];
      const double scatter = 1 + deviation * of.scatter;
      by_default.add({target, k_default}, 100 * scatter);
      by_default.add({target, k_row}, 100 * of.row / scatter);
      by_settings.add({target, k_settings}, 100 * of.settings * scatter);
      by_settings.add({target, k_settings_and_row}, 100 * of.settings_and_row / scatter);
    }
    evidence.confirmed.push_back(by_default);
    if (with_settings)
      evidence.confirmed.push_back(by_settings);
  }
  evidence.floor = evidence.confirmed;
  Finalists finalists{.in_process = {{k_row}, {k_row}}};
  if (with_settings)
    finalists.process = k_settings;
  return judge(two_targets(), finalists, evidence, k_min_gain, k_rates);
}

} // namespace

TEST_CASE("a row of 1% makes no table, but is worth a place in one") {
  const Times large{.row = 0.9, .settings = 0.9, .settings_and_row = 0.8};
  const Times small{.row = 0.99, .settings = 0.9, .settings_and_row = 0.891};

  const Judgement alone = judged({Times{.settings = 0.9, .settings_and_row = 0.9}, small});
  CHECK(alone.settings.proven);
  CHECK_FALSE(alone.table[1].proven);
  CHECK(alone.decided);

  const Judgement both = judged({large, small});
  CHECK(both.table[0].proven);
  CHECK(both.table[1].proven);
  CHECK(both.table[1].candidate == k_settings_and_row);
  CHECK(both.decided);

  const Judgement without_settings = judged({large, small}, Confirmed::rows);
  CHECK(without_settings.table[0].proven);
  CHECK_FALSE(without_settings.table[1].proven);
}

TEST_CASE("a further row of a table must beat the settings, and the default by the least gain") {
  const Times large{.row = 0.9, .settings = 0.5, .settings_and_row = 0.4};

  const Judgement as_fast_as_settings = judged({large, {.settings = 0.9, .settings_and_row = 0.9}});
  CHECK(as_fast_as_settings.table[0].proven);
  CHECK_FALSE(as_fast_as_settings.table[1].proven);

  // Settings win over all targets together, so at one they may gain nothing.
  const Judgement little = judged({large, {.settings_and_row = 0.99}});
  CHECK(little.settings.proven);
  CHECK(little.table[0].proven);
  CHECK_FALSE(little.table[1].proven);
  CHECK(little.decided);
  const auto why = std::ranges::find_if(little.reasons, [](const Reason& one) {
    return one.target == 1U && one.candidate == k_settings_and_row;
  });
  REQUIRE(why != little.reasons.end());
  CHECK(why->fate == Fate::not_proven);
  CHECK(why->needed == Approx(1 + k_min_gain)); // over the default
  CHECK(why->speed == Approx(1 / 0.99).epsilon(1e-3));
}

TEST_CASE("a row that may still win by one rule is not decided") {
  const Times large{.row = 0.9, .settings = 0.5, .settings_and_row = 0.4};
  // The settings harm here. The row makes up for a part of this, but is no faster than the default.
  const Judgement open =
      judged({large, {.settings = 1.2, .settings_and_row = 1.1, .scatter = 0.03}});
  CHECK(open.settings.proven);
  CHECK(open.table[0].proven);
  CHECK_FALSE(open.table[1].proven);
  CHECK_FALSE(open.decided);
}

TEST_CASE("a row that gains nothing rarely gets into a table, whatever the settings gain") {
  constexpr int k_searches = 1000, k_processes = 8;
  constexpr double k_scatter = 0.03; // of a cell
  std::mt19937_64 random(1);
  auto time_of = [&](double mean) { // not <random>'s distributions: they differ between libraries
    double sum = 0;
    for (int i = 0; i < 12; ++i)
      sum += static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
    return mean * std::exp(k_scatter * sum);
  };
  int false_rows = 0, tables = 0;
  for (int search = 0; search < k_searches; ++search) {
    Evidence evidence;
    for (int process = 0; process < k_processes; ++process) {
      MeasuredTrial by_default({.stage = Stage::confirm, .process = k_default});
      MeasuredTrial by_settings({.stage = Stage::confirm, .process = k_settings});
      for (std::size_t target = 0; target < 2; ++target) {
        by_default.add({target, k_default}, time_of(100));
        by_default.add({target, k_row}, time_of(100));
        by_settings.add({target, k_settings}, time_of(70));
        by_settings.add({target, k_settings_and_row}, time_of(target == 0 ? 50 : 70));
      }
      evidence.confirmed.push_back(by_default);
      evidence.confirmed.push_back(by_settings);
    }
    evidence.floor = evidence.confirmed;
    const Judgement one =
        judge(two_targets(), {.process = k_settings, .in_process = {{k_row}, {k_row}}}, evidence,
              k_min_gain, k_rates);
    tables += one.table[0].proven;
    false_rows += one.table[1].proven;
  }
  CHECK(tables > k_searches * 9 / 10);
  CHECK(false_rows <= k_rates.further_row * k_searches);
}

namespace {

Judgement judged_settings(const std::array<Times, 2>& times) {
  return judged({Times{.settings = times[0].settings,
                       .settings_and_row = times[0].settings,
                       .scatter = times[0].scatter},
                 Times{.settings = times[1].settings,
                       .settings_and_row = times[1].settings,
                       .scatter = times[1].scatter}});
}

} // namespace

TEST_CASE("a target whose times scatter does not hide what another gains") {
  const Times scattered{.settings = 1, .scatter = 0.04};
  const Judgement judgement = judged_settings({scattered, Times{.settings = 0.93}});
  REQUIRE(judgement.settings.proven);
  CHECK(judgement.settings.over_default.interval.low < 1 + k_min_gain);
  CHECK(judgement.settings.needed < 1 + k_min_gain);
  CHECK(judgement.table[1].candidate == k_settings);
}

TEST_CASE(
    "settings that are not faster over all targets, or slow one down, do not win by another") {
  const Times faster{.settings = 0.93};
  CHECK_FALSE(judged_settings({Times{.settings = 1, .scatter = 0.06}, faster}).settings.proven);
  CHECK_FALSE(judged_settings({Times{.settings = 1.02}, Times{.settings = 0.95}}).settings.proven);
  CHECK_FALSE(
      judged_settings({Times{.settings = 0.985}, Times{.settings = 0.985}}).settings.proven);
  // It is clear that these gain less than is needed, although one target gains enough.
  const Judgement too_little = judged_settings({Times{.settings = 0.995}, Times{.settings = 0.97}});
  CHECK_FALSE(too_little.settings.proven);
  CHECK(too_little.decided);
}

TEST_CASE("settings are open as long as they may still gain enough over all targets") {
  const Times same{.settings = 1, .scatter = 0.002};
  CHECK(judged_settings({same, same}).decided);
  CHECK_FALSE(judged_settings({same, Times{.settings = 0.98, .scatter = 0.04}}).decided);
}
