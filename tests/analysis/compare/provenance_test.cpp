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

TEST_CASE("a page of a comparison ends with its method and its runs") {
  const auto runs = some_runs(2);
  const Report report = report_of(compare_runs(runs[0], runs[1], {}));
  const std::string page = written(report, Format::html);
  CHECK_THAT(page,
             ContainsSubstring("Welch's t-test") && ContainsSubstring("A/A noise floor") &&
                 ContainsSubstring("[\"A\",\"run-0-0\",\"run-0-0\",\"2026-03-01T12:00:00Z\"") &&
                 ContainsSubstring("Compared by ncclprobe "));
  REQUIRE(report.sections.size() > 2);
  CHECK(report.sections.back().part == Section::Part::provenance);
  CHECK((report.sections.end() - 2)->part == Section::Part::method);
  CHECK_THAT(written(report, Format::table), !ContainsSubstring("Compared by"));
  CHECK_THAT(written(report, Format::json), ContainsSubstring("\"compared_by\": "));
}

TEST_CASE("the method on a page is that of its comparison") {
  const auto baseline = some_runs(4), runs = some_runs(3, 5);
  auto page_of = [](const RunComparison& comparison) {
    return written(report_of(comparison), Format::html);
  };
  CHECK_THAT(page_of(compare_with_baseline("nightly", baseline, runs, {})),
             ContainsSubstring("runs of the baseline, whose scatter"));
  CHECK_THAT(page_of(compare_pairs("a", some_runs(3), "b", runs, {})),
             ContainsSubstring("a pair of runs that took turns"));
  const Report history = history_of_runs(baseline);
  CHECK_THAT(written(history, Format::html),
             ContainsSubstring("permutation test") && ContainsSubstring("run-0-3"));
  CHECK(history.sections.back().key == "sources");
}
