// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/comparison_report.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/run_builder.h"

// Runs to compare, and what a comparison of them says.
namespace ncclprobe::analysis::compare {

inline constexpr std::uint64_t k_1m = 1 << 20;

// Processes of the default; `percent` slower than 10 us, scattering by `scatter_ns`.
inline support::RunBuilder run_of(int processes, double percent = 0, std::int64_t scatter_ns = 10,
                                  int ranks = 2) {
  support::RunBuilder run(ranks);
  for (int process = 0; process < processes; ++process)
    run.trial().cell("all_reduce", k_1m,
                     static_cast<std::int64_t>(10'000 * (1 + percent / 100)) +
                         scatter_ns * (process % 3));
  return run;
}

inline ComparedRun compared(const support::RunBuilder& run, std::string name = "run.h5") {
  return compared_run(RunSummary(static_cast<const model::Run&>(run)), std::move(name));
}

// Runs that differ a little from each other.
inline std::vector<ComparedRun> some_runs(int count, double percent = 0) {
  std::vector<ComparedRun> runs;
  for (int i = 0; i < count; ++i) {
    auto run = run_of(6, percent + 0.1 * (i % 3));
    run.header.run_id = fmt::format("run-{}-{}", percent, i);
    run.header.started_utc = fmt::format("2026-03-0{}T12:00:00Z", i + 1);
    runs.push_back(compared(run, run.header.run_id));
  }
  return runs;
}

// A run of several cells, with a time each.
inline ComparedRun run_of_cells(const std::vector<double>& times_ns) {
  ComparedRun run;
  run.name = "run.h5";
  for (std::size_t i = 0; i < times_ns.size(); ++i) {
    RunCell& cell = run.cells.emplace_back();
    cell.key.label.what = model::CollectiveLabel{};
    cell.key.label.bytes = k_1m << i;
    cell.key.ranks = 2;
    cell.key.setting = "default";
    cell.times_ns.assign(5, times_ns[i]);
  }
  return run;
}

// Five runs of 13 cells. The last one scatters by 4%, the others by 0.1%.
inline std::vector<ComparedRun> runs_with_a_noisy_cell() {
  std::vector<ComparedRun> runs;
  for (const double percent : {-3.0, 4.0, -1.0, 5.0, -5.0}) {
    std::vector<double> times_ns(13, 1e4 * (1 + percent / 4000));
    times_ns.back() = 1e4 * (1 + percent / 100);
    runs.push_back(run_of_cells(times_ns));
  }
  return runs;
}

// The same machine, but its noisy cell is so much slower.
inline ComparedRun run_with_a_slower_cell(double percent) {
  std::vector<double> times_ns(13, 1e4);
  times_ns.back() *= 1 + percent / 100;
  return run_of_cells(times_ns);
}

inline const CellComparison& only_cell(const RunComparison& comparison) {
  REQUIRE(comparison.cells.size() == 1);
  return comparison.cells.front();
}

inline Gate gate_of(const std::string& text) {
  return base::value_or_throw(parse_gate(text));
}

inline GateResult judged(const std::string& gate, const RunComparison& comparison,
                         const std::vector<FactKind>& vary = {}) {
  return judge_gates({gate_of(gate)}, comparison, vary).front();
}

inline Report report_of(const RunComparison& comparison,
                        const std::vector<std::string>& gates = {}) {
  auto judged = std::make_shared<std::vector<JudgedComparison>>();
  judged->push_back({comparison, {}});
  std::vector<Gate> parsed;
  for (const std::string& gate : gates)
    parsed.push_back(gate_of(gate));
  judged->front().gates = judge_gates(parsed, judged->front().comparison, {});
  return comparison_report(judged);
}

// As a wide terminal shows it.
inline std::string text_of(const RunComparison& comparison,
                           const std::vector<std::string>& gates = {}) {
  return written(report_of(comparison, gates), Format::table, 400);
}

} // namespace ncclprobe::analysis::compare
