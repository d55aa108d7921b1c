// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What comparisons say about where their numbers come from.
#include "analysis/compare/compared_runs.h"
#include "analysis/compare/comparison_tests.h"
#include "analysis/compare/history_report.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::compare;

namespace {

std::vector<ComparedRun> synthetic_runs(int count) {
  std::vector<ComparedRun> runs = some_runs(count);
  for (ComparedRun& run : runs)
    run.synthetic = true;
  return runs;
}

Report history_of_runs(std::vector<ComparedRun> runs) {
  return history_report(std::make_shared<const History>(history_of(std::move(runs))));
}

std::string junit_of(const RunComparison& comparison) {
  return write_junit(comparison_tests({{comparison, {}}}));
}

} // namespace

TEST_CASE("synthetic numbers are marked in the CSV of comparisons and histories") {
  const auto made_up = synthetic_runs(2), measured = some_runs(2);
  auto csv_of = [](const Report& report) { return written(report, Format::csv); };
  CHECK_THAT(csv_of(report_of(compare_runs(made_up[0], made_up[1], {}))),
             ContainsSubstring("a,b,synthetic,") && ContainsSubstring("run-0-0,run-0-1,true,"));
  CHECK_THAT(csv_of(report_of(compare_runs(measured[0], measured[1], {}))),
             ContainsSubstring("run-0-0,run-0-1,false,"));
  CHECK_THAT(csv_of(history_of_runs(made_up)), ContainsSubstring(",true,"));
  CHECK_THAT(csv_of(history_of_runs(measured)), ContainsSubstring(",false,"));
}

TEST_CASE("synthetic numbers are marked in JUnit") {
  const auto made_up = synthetic_runs(2), measured = some_runs(2);
  CHECK_THAT(junit_of(compare_runs(made_up[0], made_up[1], {})),
             ContainsSubstring("<property name=\"synthetic\" value=\"true\"/>") &&
                 ContainsSubstring("run-0-1 [SYNTHETIC]"));
  CHECK_THAT(junit_of(compare_runs(measured[0], measured[1], {})),
             !ContainsSubstring("<propert") && !ContainsSubstring("SYNTHETIC"));
}
