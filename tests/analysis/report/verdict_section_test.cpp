// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/verdict_section.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::support;

namespace {

SettingVerdict counts(const std::string& name, int better, int worse, int same, int open = 0,
                      int wrong = 0) {
  return {.setting = name,
          .better = better,
          .worse = worse,
          .no_difference = same,
          .not_decided = open,
          .wrong = wrong,
          .best_ratio = 1.25};
}

std::vector<Finding> answer_of(const std::vector<SettingVerdict>& settings, int tested = 10) {
  Verdicts verdicts;
  verdicts.tested = tested;
  return analysis::answer(settings, verdicts);
}

std::vector<std::string_view> ids_of(const std::vector<Finding>& findings) {
  std::vector<std::string_view> ids;
  for (const Finding& one : findings)
    ids.push_back(one.kind->id);
  return ids;
}

Value value_of(const Finding& finding, const std::string& name) {
  for (const auto& [key, value] : finding.values)
    if (key == name)
      return value;
  return {};
}

using Ids = std::vector<std::string_view>;

} // namespace

TEST_CASE("to keep the defaults is a normal answer") {
  CHECK(ids_of(answer_of({counts("A=1", 0, 3, 9), counts("B=1", 0, 0, 12)})) ==
        Ids{"keep_defaults"});
}

TEST_CASE("a setting that gains and never loses is named with its counts") {
  const auto found = answer_of({counts("A=1", 3, 0, 9), counts("B=1", 2, 1, 9)});

  REQUIRE(ids_of(found) == Ids{"better"});
  CHECK(value_of(found[0], "setting") == Value("A=1"));
  CHECK(value_of(found[0], "better") == Value(3));
  CHECK(value_of(found[0], "cells") == Value(12));
  CHECK(in_words(found) == "A=1 is better in 3 of 12 cells (up to 1.25x) and worse in none.");
}

TEST_CASE("a setting that gains here and loses there does not replace the defaults") {
  const auto found = answer_of({counts("A=1", 3, 9, 0)});

  REQUIRE(ids_of(found) == Ids{"keep_defaults_unless", "better_and_worse"});
  CHECK(value_of(found[1], "worse") == Value(9));
}

TEST_CASE("a setting that delivers wrong data is never recommended") {
  const auto found = answer_of({counts("A=1", 3, 0, 8, 0, 1)});

  REQUIRE(ids_of(found) == Ids{"keep_defaults", "delivers_wrong_data"});
  CHECK(value_of(found[1], "setting") == Value("A=1"));
}

TEST_CASE("what could not be decided is said") {
  CHECK(ids_of(answer_of({counts("A=1", 0, 0, 0, 12)}, 0)) == Ids{"too_few_processes"});
  CHECK(ids_of(answer_of({counts("A=1", 0, 0, 6, 6)})) == Ids{"keep_defaults", "not_decided"});
}

TEST_CASE(
    "where most comparisons would miss a large difference the answer is not to keep the defaults") {
  SettingVerdict noisy = counts("A=1", 0, 0, 4, 6);
  noisy.too_noisy = 6;

  const auto found = answer_of({noisy});

  REQUIRE(ids_of(found) == Ids{"too_noisy", "would_have_missed"});
  CHECK(value_of(found[1], "too_noisy") == Value(6));
}

TEST_CASE("a few noisy cells do not spoil the answer but are said") {
  SettingVerdict noisy = counts("A=1", 0, 0, 7, 3);
  noisy.too_noisy = 3;

  CHECK(ids_of(answer_of({noisy})) == Ids{"keep_defaults", "would_have_missed"});
}

TEST_CASE("a noisy run is told what to do and which trial was disturbed") {
  RunBuilder run(1);
  for (int i = 0; i < 10; ++i)
    run.trial().cell("broadcast", 1000, 1000 + 150 * (i % 3));
  for (int i = 0; i < 5; ++i)
    run.trial({{"A", "1"}}).cell("broadcast", 1000, i == 2 ? 3450 : 1150);
  auto results = setting_results(run);

  const auto advice = noise_advice(run, results, judge(results));

  REQUIRE(ids_of(advice) == Ids{"measure_again", "disturbed_trial"});
  CHECK(value_of(advice[0], "processes") == Value(std::size_t{10}));
  CHECK(value_of(advice[1], "trial") == Value(12));
  CHECK(std::get<double>(value_of(advice[1], "times").held()) == Approx(3));
}

TEST_CASE("a quiet run needs no advice") {
  CHECK(noise_advice(RunBuilder(1), {}, {}).empty());
}

TEST_CASE("without settings there is no question to answer") {
  CHECK(answer_of({}, 0).empty());
}
