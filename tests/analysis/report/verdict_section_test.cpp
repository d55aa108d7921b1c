// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/verdict_section.h"
#include "support/catch.h"
#include "support/run_builder.h"

using Catch::Matchers::StartsWith;
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

std::string answer_of(const std::vector<SettingVerdict>& settings, int tested = 10) {
  Verdicts verdicts;
  verdicts.tested = tested;
  return in_words(analysis::answer(settings, verdicts));
}

} // namespace

TEST_CASE("to keep the defaults is a normal answer") {
  CHECK_THAT(answer_of({counts("A=1", 0, 3, 9), counts("B=1", 0, 0, 12)}),
             StartsWith("Keep the defaults: no setting is better in any cell"));
}

TEST_CASE("a setting that gains and never loses is named with its counts") {
  CHECK(answer_of({counts("A=1", 3, 0, 9), counts("B=1", 2, 1, 9)}) ==
        "A=1 is better in 3 of 12 cells (up to 1.25x) and worse in none.");
}

TEST_CASE("a setting that gains here and loses there does not replace the defaults") {
  std::string text = answer_of({counts("A=1", 3, 9, 0)});

  CHECK_THAT(text, StartsWith("Keep the defaults, unless"));
  CHECK_THAT(text,
             ContainsSubstring("A=1 is better in 3 of 12 cells (up to 1.25x) and worse in 9."));
}

TEST_CASE("a setting that delivers wrong data is never recommended") {
  std::string text = answer_of({counts("A=1", 3, 0, 8, 0, 1)});

  CHECK_THAT(text, StartsWith("Keep the defaults: "));
  CHECK_THAT(text, ContainsSubstring("A=1 delivers wrong data: do not use it."));
}

TEST_CASE("what could not be decided is said") {
  CHECK_THAT(answer_of({counts("A=1", 0, 0, 0, 12)}, 0), StartsWith("Not decided"));
  CHECK_THAT(answer_of({counts("A=1", 0, 0, 6, 6)}),
             ContainsSubstring("6 comparisons are not decided."));
}

TEST_CASE(
    "where most comparisons would miss a large difference the answer is not to keep the defaults") {
  SettingVerdict noisy = counts("A=1", 0, 0, 4, 6);
  noisy.too_noisy = 6;

  CHECK(answer_of({noisy}) ==
        "Too noisy to tell whether any setting is better. 6 of 10 comparisons "
        "would have missed a difference of 25%.");
}

TEST_CASE("a few noisy cells do not spoil the answer but are said") {
  SettingVerdict noisy = counts("A=1", 0, 0, 7, 3);
  noisy.too_noisy = 3;

  std::string text = answer_of({noisy});

  CHECK_THAT(text, StartsWith("Keep the defaults: "));
  CHECK_THAT(text, ContainsSubstring("3 of 10 comparisons would have missed a difference of 25%."));
  CHECK_THAT(text, !ContainsSubstring("not decided"));
}

TEST_CASE("the answer is made of findings with their values") {
  Verdicts verdicts;
  verdicts.tested = 12;

  const auto found = analysis::answer({counts("A=1", 3, 0, 9)}, verdicts);

  REQUIRE(found.size() == 1);
  CHECK(found[0].kind->id == "better");
  CHECK(found[0].values[1] == std::pair<std::string, Value>("better", 3));
}

TEST_CASE("a noisy run is told what to do and which trial was disturbed") {
  RunBuilder run(1);
  for (int i = 0; i < 10; ++i)
    run.trial().cell("broadcast", 1000, 1000 + 150 * (i % 3));
  for (int i = 0; i < 5; ++i)
    run.trial({{"A", "1"}}).cell("broadcast", 1000, i == 2 ? 3450 : 1150);
  auto results = setting_results(run);

  std::string advice = in_words(noise_advice(run, results, judge(results)));

  CHECK_THAT(advice, ContainsSubstring("(--repeat 10)"));
  CHECK_THAT(advice, ContainsSubstring("Trial 12 (A=1) was disturbed most: it took 3.0 times as "
                                       "long as the setting's other processes."));
}

TEST_CASE("a quiet run needs no advice") {
  CHECK(noise_advice(RunBuilder(1), {}, {}).empty());
}

TEST_CASE("without settings there is no question to answer") {
  CHECK(answer_of({}, 0).empty());
}
