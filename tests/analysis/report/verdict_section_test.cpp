// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/verdict_section.h"
#include "support/catch.h"

using Catch::Matchers::StartsWith;
using namespace ncclprobe::analysis;

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

std::string answer(const std::vector<SettingVerdict>& settings, int tested = 10) {
  Verdicts verdicts;
  verdicts.tested = tested;
  return answer_text(settings, verdicts);
}

} // namespace

TEST_CASE("to keep the defaults is a normal answer") {
  CHECK_THAT(answer({counts("A=1", 0, 3, 9), counts("B=1", 0, 0, 12)}),
             StartsWith("Keep the defaults: no setting is better in any cell"));
}

TEST_CASE("a setting that gains and never loses is named with its counts") {
  CHECK(answer({counts("A=1", 3, 0, 9), counts("B=1", 2, 1, 9)}) ==
        "A=1 is better in 3 of 12 cells (up to 1.25x) and worse in none.");
}

TEST_CASE("a setting that gains here and loses there does not replace the defaults") {
  std::string text = answer({counts("A=1", 3, 9, 0)});

  CHECK_THAT(text, StartsWith("Keep the defaults, unless"));
  CHECK_THAT(text,
             ContainsSubstring("A=1 is better in 3 of 12 cells (up to 1.25x) and worse in 9."));
}

TEST_CASE("a setting that delivers wrong data is never recommended") {
  std::string text = answer({counts("A=1", 3, 0, 8, 0, 1)});

  CHECK_THAT(text, StartsWith("Keep the defaults: "));
  CHECK_THAT(text, ContainsSubstring("A=1 delivers wrong data: do not use it."));
}

TEST_CASE("what could not be decided is said") {
  CHECK_THAT(answer({counts("A=1", 0, 0, 0, 12)}, 0), StartsWith("Not decided"));
  CHECK_THAT(answer({counts("A=1", 0, 0, 6, 6)}),
             ContainsSubstring("6 comparisons are not decided."));
}

TEST_CASE("without settings there is no question to answer") {
  CHECK(answer({}, 0).empty());
}
