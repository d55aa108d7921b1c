// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/compare/compare_command.h"

#include "analysis/compare/baseline.h"
#include "analysis/compare/comparison_tests.h"
#include "analysis/compare/history_report.h"
#include "base/console.h"
#include "base/log.h"
#include "base/parse_enum.h"
#include "base/text_files.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/private_folder.h"
#include "launch/cli/compare/run_in_turns.h"
#include "launch/cli/files/report_files.h"
#include "launch/cli/procure/procure_command.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;
using namespace analysis::compare;
using Comparisons = std::vector<RunComparison>;

constexpr const char* k_compare_command = "ncclprobe compare";
constexpr const char* k_baseline_command = "ncclprobe baseline";

Result<ComparedRun> read_compared(const fs::path& file) {
  NCCLPROBE_TRY_ASSIGN(const analysis::RunSummary run, read_summary_or_parts(file));
  return compared_run(run, file.string());
}

Result<std::vector<ComparedRun>> read_all(const std::vector<std::string>& files) {
  std::vector<ComparedRun> runs;
  for (const std::string& file : files) {
    NCCLPROBE_TRY_ASSIGN(ComparedRun run, read_compared(file));
    runs.push_back(std::move(run));
  }
  return runs;
}

// A copy of a run would count as one more run, and hide how much runs differ.
void take_once(std::vector<ComparedRun>& runs) {
  for (const std::string& left_out : leave_out_copies(runs))
    spdlog::warn("{}", left_out);
}

std::vector<FactKind> varied(const std::vector<std::string>& names) {
  std::vector<FactKind> kinds;
  for (const std::string& name : names)
    kinds.push_back(base::value_or_throw(base::parse_enum<FactKind>(name, "fact")));
  return kinds;
}

Result<Comparisons> compare_files(const CompareOptions& options) {
  NCCLPROBE_TRY_ASSIGN(auto runs, read_all(options.sides));
  const Request request{options.difference};
  if (!options.against.empty()) {
    NCCLPROBE_TRY_ASSIGN(auto baseline, read_baseline(options.folder, options.against));
    take_once(baseline);
    take_once(runs);
    bool left_baseline = false;
    for (const ComparedRun& run : runs) {
      left_baseline =
          left_baseline || std::ranges::count(baseline, run.run_id, &ComparedRun::run_id) > 0;
      NCCLPROBE_TRY_ASSIGN(baseline, matching(std::move(baseline), run, varied(options.vary)));
    }
    Comparisons all{compare_with_baseline(options.against, baseline, runs, request)};
    all.front().b_left_a = left_baseline;
    return all;
  }
  Comparisons all;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].run_id == runs[0].run_id)
      spdlog::warn("{} is the same run as {}", runs[i].name, runs[0].name);
    all.push_back(compare_runs(runs[0], runs[i], request));
  }
  return all;
}

Result<Comparisons> compare_in_turns(const CompareOptions& options) {
  fs::path folder = options.keep;
  std::optional<PrivateFolder> temporary;
  if (folder.empty()) {
    folder = temporary.emplace().path();
    if (folder.empty())
      return fail({Errc::io, "cannot make a folder for the run files", "name one with --keep"});
  } else {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return fail(Errc::io, "cannot make the folder {}: {}", folder.string(), error.message());
  }
  auto run_file = [&](int pair, int side) {
    return folder / fmt::format("{}-{:03}.h5", side == 0 ? "a" : "b", pair + 1);
  };
  for (int pair = 0; pair < options.pairs; ++pair)
    for (int side : {0, 1})
      if (std::error_code error; fs::exists(run_file(pair, side), error))
        return fail({Errc::invalid_argument,
                     fmt::format("{} exists already", run_file(pair, side).string()),
                     "name a new folder with --keep"});
  NCCLPROBE_TRY(run_in_turns({options.sides[0], options.sides[1]},
                             second_first(options.pairs, std::random_device{}()), run_file));
  std::array<std::vector<ComparedRun>, 2> runs;
  for (int pair = 0; pair < options.pairs; ++pair)
    for (int side : {0, 1}) {
      NCCLPROBE_TRY_ASSIGN(ComparedRun run, read_compared(run_file(pair, side)));
      runs[static_cast<std::size_t>(side)].push_back(std::move(run));
    }
  return Comparisons{
      compare_pairs(options.sides[0], runs[0], options.sides[1], runs[1], {options.difference})};
}

Result<History> read_history(const fs::path& folder) {
  std::vector<ComparedRun> runs;
  for (const std::string& name : base::names_in(folder)) {
    const fs::path file = folder / name;
    if (file.extension() == ".h5") {
      NCCLPROBE_TRY_ASSIGN(ComparedRun run, read_compared(file));
      runs.push_back(std::move(run));
    } else if (file.extension() == ".json") {
      auto run = read_baseline_file(file);
      if (run)
        runs.push_back(std::move(*run));
      else if (run.error().code == Errc::protocol)
        spdlog::warn("left out: {}", run.error().message);
      else
        return fail(std::move(run.error()));
    }
  }
  if (runs.empty())
    return fail({Errc::not_found, fmt::format("there are no runs in {}", folder.string()),
                 "name a folder with run files, or of a baseline"});
  take_once(runs);
  return history_of(std::move(runs));
}

int show_history(const CompareOptions& options) {
  auto history = read_history(options.history);
  if (!history)
    return complain_of_input(k_compare_command, history.error());
  const auto format =
      base::value_or_throw(base::parse_enum<analysis::Format>(options.format, "format"));
  return deliver(history_report(std::make_shared<const History>(std::move(*history))), format,
                 options.output, base::k_exit_ok);
}

int exit_code_of(const std::vector<JudgedComparison>& comparisons) {
  std::vector<GateResult> gates;
  for (const JudgedComparison& one : comparisons)
    gates.insert(gates.end(), one.gates.begin(), one.gates.end());
  switch (worst(gates)) {
  case GateVerdict::passed:
    return base::k_exit_ok;
  case GateVerdict::regression:
    return base::k_exit_regression;
  case GateVerdict::not_comparable:
    return base::k_exit_not_comparable;
  case GateVerdict::undecided:
    return base::k_exit_undecided;
  }
  return base::k_exit_internal;
}

int write_comparisons(const CompareOptions& options,
                      std::shared_ptr<const std::vector<JudgedComparison>> comparisons,
                      int exit_code) {
  if (options.format == "junit")
    return deliver(analysis::write_junit(comparison_tests(*comparisons)), options.output,
                   exit_code);
  const auto format =
      base::value_or_throw(base::parse_enum<analysis::Format>(options.format, "format"));
  return deliver(comparison_report(std::move(comparisons)), format, options.output, exit_code);
}

} // namespace

int compare_command(const CompareOptions& options) {
  if (!options.nodes_file.empty())
    return procure_nodes(
        options.nodes_file,
        base::value_or_throw(base::parse_enum<analysis::Format>(options.format, "format")),
        options.output);
  std::vector<fs::path> inputs;
  if (!options.interleave)
    inputs.assign(options.sides.begin(), options.sides.end());
  inputs.push_back(options.history);
  if (auto possible = check_output(options.output, inputs); !possible)
    return complain_of_output(k_compare_command, possible.error());
  if (!options.history.empty())
    return show_history(options);
  auto compared = options.interleave ? compare_in_turns(options) : compare_files(options);
  if (!compared && compared.error().code == Errc::mismatch)
    return complain(k_compare_command, compared.error(), base::k_exit_not_comparable);
  if (!compared)
    return complain_of_input(k_compare_command, compared.error());
  // Filled before it is judged: gates point into the comparisons.
  auto judged = std::make_shared<std::vector<JudgedComparison>>();
  for (RunComparison& one : *compared)
    judged->push_back({std::move(one), {}});
  for (JudgedComparison& one : *judged)
    one.gates = judge_gates(options.gates, one.comparison, varied(options.vary));
  const int exit_code = exit_code_of(*judged);
  return write_comparisons(options, judged, exit_code);
}

int baseline_command(const BaselineOptions& options) {
  for (const fs::path& file : options.runs) {
    auto run = read_compared(file);
    if (!run)
      return complain_of_input(k_baseline_command, run.error());
    auto path = add_to_baseline(options.folder, options.name, *run);
    if (!path)
      return complain_of_output(k_baseline_command, path.error());
    base::print(base::StandardStream::out, path->string() + "\n");
  }
  return base::k_exit_ok;
}

} // namespace ncclprobe::cli
