// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What programs may rely on in the JSON of comparisons and histories: docs/schemas.
#include "analysis/compare/comparison_report.h"
#include "analysis/compare/history_report.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::compare;

namespace {

// Six processes in each of two cells; `percent` slower than 10 us.
ComparedRun run_of(int day, double percent, std::vector<RunFact> facts = {}) {
  ComparedRun run;
  run.run_id = run.name = fmt::format("run {} {}", day, percent);
  run.started_utc = fmt::format("2026-03-{:02}T12:00:00Z", day);
  run.facts = std::move(facts);
  run.floors.assign(k_size_classes, 1.001);
  for (std::uint64_t bytes : {1 << 20, 2 << 20}) {
    RunCell cell;
    cell.key = {.label = {.bytes = bytes}, .ranks = 2, .setting = "default"};
    for (int process = 0; process < 6; ++process)
      cell.times_ns.push_back(1e4 * (1 + percent / 100 + 0.001 * ((process + day) % 3)));
    run.cells.push_back(cell);
  }
  return run;
}

std::vector<ComparedRun> runs_of(int count, double percent) {
  std::vector<ComparedRun> runs;
  for (int day = 1; day <= count; ++day)
    runs.push_back(run_of(day, percent, {{FactKind::driver, "", fmt::format("58{}", day % 2)}}));
  return runs;
}

std::string json_of(const Report& report) {
  return written(report, Format::json);
}

std::string json_of(const RunComparison& comparison, const std::vector<std::string>& gates = {}) {
  auto judged = std::make_shared<std::vector<JudgedComparison>>();
  judged->push_back({comparison, {}});
  std::vector<Gate> parsed;
  for (const std::string& gate : gates)
    parsed.push_back(base::value_or_throw(parse_gate(gate)));
  judged->front().gates = judge_gates(parsed, judged->front().comparison, {});
  return json_of(comparison_report(judged));
}

} // namespace

TEST_CASE("the JSON of comparisons has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("basis", Basis{});
  schema.add_names("conclusion", Conclusion{});
  schema.add_names("kind", FactKind{});
  const auto baseline = runs_of(5, 0);
  const std::vector<std::string> gates{"busbw(all_reduce) -3%", "time(broadcast) +3%"};
  for (const double percent : {0.0, 10.0, -10.0}) {
    const auto runs = runs_of(3, percent);
    schema.add(json_of(compare_runs(baseline[0], runs[1], {})));
    schema.add(json_of(compare_runs(baseline[0], runs[1], {}), gates));
    schema.add(json_of(compare_with_baseline("nightly", baseline, runs, {}), gates));
    schema.add(json_of(compare_with_baseline("nightly", runs_of(2, 0), runs, {}), gates));
    schema.add(json_of(compare_pairs("a", runs_of(3, 0), "b", runs, {}), gates));
  }
  ComparedRun other = run_of(1, 0);
  other.synthetic = true;
  schema.add(json_of(compare_runs(baseline[0], other, {}), gates));
  other = run_of(1, 0, {{FactKind::variable, "NCCL_ALGO", "Tree"}});
  other.floors.clear();
  for (RunCell& cell : other.cells)
    cell.times_ns.resize(1);
  schema.add(json_of(compare_runs(baseline[0], other, {}), gates));

  support::check_document("docs/schemas/comparison.json",
                          schema.text("ncclprobe compare A B --format json"));
}

TEST_CASE("the JSON of histories has the fields and types of its schema") {
  support::JsonSchema schema;
  for (const int runs : {1, 20}) {
    std::vector<ComparedRun> all;
    for (int day = 1; day <= runs; ++day)
      all.push_back(run_of(day, day > 10 ? 10 : 0));
    all.push_back(run_of(25, 0, {{FactKind::nccl, "", "2.27.3"}}));
    schema.add(json_of(history_report(std::make_shared<const History>(history_of(all)))));
  }

  support::check_document("docs/schemas/history.json",
                          schema.text("ncclprobe compare --history DIR --format json"));
}
