// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/bisect/bisect_report.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;

namespace {

// Three versions; `ratio` of each over the first one.
Bisection searched(const std::vector<double>& ratio) {
  Bisection all{.library = "nccl",
                .cell = "all_reduce:64M",
                .versions = {"a", "b", "c"},
                .search = StepSearch(3, 0.02)};
  while (const auto version = all.search.next()) {
    std::vector<double> pairs;
    for (std::size_t i = 0; i < all.search.pairs(); ++i)
      pairs.push_back(ratio[*version] * (i % 2 == 0 ? 1.0005 : 0.9995));
    all.search.add(pairs);
  }
  return all;
}

Bisection failing(VersionFailure failure) {
  Bisection all = searched({1, 1, 1});
  all.search = StepSearch(3, 0.02);
  while (const auto version = all.search.next()) {
    all.search.add_failure();
    all.failures[*version] = {failure, "worker 0 is gone"};
  }
  return all;
}

std::vector<std::string> ids(const Bisection& all) {
  std::vector<std::string> out;
  const Report report = bisect_report(all);
  for (const Finding* finding : findings(report))
    out.emplace_back(finding->kind->id);
  return out;
}

model::TrialRecord trial_with(model::OutcomeKind kind, model::OutcomeKind of_cell) {
  model::TrialRecord trial;
  trial.spec.tested_libraries = {{"nccl", "/b"}};
  trial.outcome = {kind, "why", {0}};
  trial.cells.resize(1);
  trial.cells[0].outcome.kind = of_cell;
  return trial;
}

} // namespace

TEST_CASE("a loss that is larger than that of the first bad version is cumulative") {
  using Ids = std::vector<std::string>;
  CHECK(ids(searched({1, 1, 1.1})) == Ids{"slower"});
  CHECK(ids(searched({1, 1.1, 1.1})) == Ids{"slower"});
  CHECK(ids(searched({1, 1.06, 1.1})) == Ids{"slower", "cumulative"});
  CHECK(ids(searched({1, 1, 1})) == Ids{"same"});
}

TEST_CASE("the reason of a failed version is that of its worst trial") {
  using model::OutcomeKind;
  struct Row {
    OutcomeKind trial, cell;
    VersionFailure failure;
    std::vector<int> last_cells = {}; // of its workers
  };
  for (const Row& row :
       {Row{OutcomeKind::failed, OutcomeKind::not_run, VersionFailure::cannot_start},
        Row{OutcomeKind::failed, OutcomeKind::failed, VersionFailure::failed},
        Row{OutcomeKind::crashed, OutcomeKind::not_run, VersionFailure::cannot_start},
        Row{OutcomeKind::crashed, OutcomeKind::crashed, VersionFailure::crashed},
        Row{OutcomeKind::crashed, OutcomeKind::crashed, VersionFailure::cannot_start, {-1, -1}},
        Row{OutcomeKind::crashed, OutcomeKind::crashed, VersionFailure::crashed, {-1, 0}},
        Row{OutcomeKind::timed_out, OutcomeKind::timed_out, VersionFailure::hung},
        Row{OutcomeKind::wrong_data, OutcomeKind::wrong_data, VersionFailure::wrong_data}}) {
    model::Run run;
    run.trials = {trial_with(OutcomeKind::ok, OutcomeKind::ok), trial_with(row.trial, row.cell)};
    for (int last_cell : row.last_cells)
      run.trials[1].workers.emplace_back().last_cell = last_cell;
    const auto found = failure_in(run);
    REQUIRE(found);
    CHECK(found->failure == row.failure);
    CHECK(found->reason == "why");
    run.trials[1].spec.tested_libraries.clear(); // the first version
    CHECK(!failure_in(run));
  }
}

TEST_CASE("choices of the last good version and of the first bad one are shown") {
  Bisection all = searched({1, 1, 1.1});
  all.choices = {
      {0, {{"RING", "LL128", 24}}}, {1, {{"RING", "LL128", 24}}}, {2, {{"TREE", "LL", 2}}}};
  const std::string text = written(bisect_report(all), Format::table, 100);
  CHECK_THAT(text, ContainsSubstring("RING LL128 24 channels"));
  CHECK_THAT(text, ContainsSubstring("TREE LL 2 channels"));
}

TEST_CASE("the JSON of a bisection has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("severity", Severity{});
  schema.add_names("answer", StepAnswer{});
  schema.add_names("failure", VersionFailure{});
  Bisection changed = searched({1, 1.06, 1.1});
  changed.choices = {{0, {{"RING", "LL128", 24}}}, {1, {{"TREE", "LL", 2}}}};
  for (const Bisection& all : {searched({1, 1, 1}), changed, failing(VersionFailure::hung)})
    schema.add(written(bisect_report(all), Format::json));
  support::check_document("docs/schemas/bisect.json",
                          schema.text("ncclprobe bisect --format json"));
}
