// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// How the page of a run begins.
#include "analysis/report/outcome_section.h"
#include "analysis/report/written.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

RunBuilder run_of(int processes) {
  RunBuilder run(2);
  for (int process = 0; process < processes; ++process)
    run.trial().cell("all_reduce", 1 << 20, 10'000 + process);
  run.header.planned_trials = processes;
  return run;
}

Report report_of(const RunBuilder& run) {
  return run_report(RunSummary(static_cast<const model::Run&>(run)));
}

const Section& section_of(const Report& report, std::string_view key) {
  const auto found = std::ranges::find(report.sections, key, &Section::key);
  REQUIRE(found != report.sections.end());
  return *found;
}

std::string words_of(const Section& section) {
  std::string all;
  for (const Block& block : section.blocks)
    if (const auto* found = std::get_if<Findings>(&block))
      all += found->label + ": " + in_words(found->all) + "\n";
  return all;
}

} // namespace

TEST_CASE("the page of a run with a failed trial begins with it, and links to its section") {
  RunBuilder run = run_of(3);
  run.header.backend = "nvidia";
  run.trials[1].outcome = {model::OutcomeKind::timed_out, "no sign of life", {1}};
  const Report report = report_of(run);

  const Section& section = section_of(report, "outcome");
  CHECK(section.part == Section::Part::answer);
  const std::string words = words_of(section);
  CHECK_THAT(words, ContainsSubstring("Failures: 1 of 3 trials did not succeed: trial ") &&
                        ContainsSubstring("timed out on rank 1") &&
                        ContainsSubstring("What to do: ") && ContainsSubstring("--retry-failed"));
  CHECK_THAT(written(report, Format::html),
             ContainsSubstring("\"section\":\"problems\",\"more\":\"The failures, one by one\""));
  CHECK(section_of(report, "problems").part == Section::Part::failures);
  // The text begins with the trials, and has the failures at its end.
  CHECK_THAT(written(report, Format::table), !ContainsSubstring("did not succeed"));
}

TEST_CASE("the page of a run without a comparison begins with an answer") {
  const std::string few = words_of(section_of(report_of(run_of(2)), "outcome"));
  CHECK_THAT(few, ContainsSubstring("Answer: All 2 trials succeeded") &&
                      ContainsSubstring("What to do: ") && ContainsSubstring("(--repeat 5)"));
  const std::string enough = words_of(section_of(report_of(run_of(5)), "outcome"));
  CHECK_THAT(enough,
             ContainsSubstring("All 5 trials succeeded") && !ContainsSubstring("What to do"));
}

TEST_CASE("an unfinished run says how much is missing") {
  RunBuilder run = run_of(2);
  run.header.planned_trials = 6;
  CHECK_THAT(words_of(failure_section(run)),
             ContainsSubstring("unfinished: 2 of 6 trials were measured") &&
                 ContainsSubstring("--resume"));
}
