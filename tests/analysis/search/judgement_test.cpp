// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/judgement.h"
#include "support/catch.h"

#include <array>

using namespace ncclprobe::analysis::search;

namespace {

constexpr double k_min_gain = 0.02;
constexpr double k_alpha = 0.01;
const Candidate k_default{0, 0}, k_settings{1, 0}, k_row{0, 1}, k_settings_and_row{1, 1};

Space two_targets() {
  return {.parameters = {{"CTAS", {"1", "2"}}, {"algorithm", {"Ring", "Tree"}, true}},
          .targets = {{"all_reduce 1M"}, {"all_reduce 4M"}}};
}

// Of one target, relative to the default's.
struct Times {
  double row = 1, settings = 1, settings_and_row = 1;
};

// Times scatter by 0.1% from process to process.
Judgement judged(const std::array<Times, 2>& times, bool with_settings = true) {
  Evidence evidence;
  for (double scatter : {0.999, 1.0, 1.001, 0.9995, 1.0005, 1.0}) {
    MeasuredTrial by_default({.stage = Stage::confirm, .process = k_default});
    MeasuredTrial by_settings({.stage = Stage::confirm, .process = k_settings});
    for (std::size_t target = 0; target < times.size(); ++target) {
      const Times& of = times[target];
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
  return judge(two_targets(), finalists, evidence, k_min_gain, k_alpha);
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

  const Judgement without_settings = judged({large, small}, false);
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
}
