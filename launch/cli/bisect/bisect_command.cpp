// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/bisect/bisect_command.h"

#include "analysis/bisect/step_search.h"
#include "analysis/report/heading.h"
#include "analysis/report_value/report_value.h"
#include "analysis/results/cell_summary.h"
#include "analysis/statistics/inference.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/shell_word.h"
#include "launch/cli/bisect/version_files.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/private_folder.h"
#include "launch/cli/files/report_files.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;
using analysis::StepAnswer;
using analysis::StepComparison;
using analysis::StepSearch;

constexpr const char* k_bisect_command = "ncclprobe bisect";

constexpr analysis::FindingKind k_slower{
    "slower", analysis::Severity::error,
    "{version} is the first slower one: {change} against {first}. {before} is the last good one."};
constexpr analysis::FindingKind k_fails{
    "fails", analysis::Severity::error,
    "{version} is the first that fails. {before} is the last good one."};
constexpr analysis::FindingKind k_same{
    "same", analysis::Severity::note,
    "{last} is not slower than {first}: a slowdown of {least} is excluded."};
constexpr analysis::FindingKind k_open{
    "undecided", analysis::Severity::warning,
    "Not decided: {pairs} pairs neither show nor exclude that {last} is slower than {first} by "
    "{least}."};

constexpr analysis::FindingKind k_between{
    "undecided_between", analysis::Severity::warning,
    "The first bad version comes after {good}, and is {bad} at the latest. {pairs} pairs did not "
    "decide whether {version} is slower."};

// One run of `ncclprobe run` with the first version as the default, and another one beside it.
class Measurement {
public:
  Measurement(const BisectOptions& options, const VersionFiles& versions, fs::path folder)
      : options_(options), versions_(versions), folder_(std::move(folder)) {
    std::error_code failed;
    program_ = fs::read_symlink("/proc/self/exe", failed).parent_path() / "ncclprobe";
  }

  // The ratio of each pair of processes; none if the other version failed. Errors: failed (the
  // first version has no times, or the run ended early), mismatch (another file was loaded).
  Result<std::vector<double>> ratios(std::size_t version, std::size_t pairs) {
    const fs::path file = folder_ / fmt::format("{}.h5", ++runs_);
    const std::string command = command_of(version, pairs, file);
    spdlog::info("comparing {} with {}", versions_.paths[version], versions_.paths.front());
    const int status = std::system(("{ " + command + "\n} 1>&2").c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != base::k_exit_ok && code != base::k_exit_some_failed &&
        code != base::k_exit_wrong_data) {
      exit_code_ = code > 0 ? code : base::k_exit_nothing;
      return fail(
          {Errc::failed, fmt::format("the run ended with {}: {}", code, command), "try it alone"});
    }
    NCCLPROBE_TRY_ASSIGN(const analysis::RunSummary run, read_summary(file));
    synthetic_ |= run.header.synthetic;
    std::vector<double> first, other;
    for (const analysis::SettingResult& one : analysis::setting_results(run)) {
      if (!one.not_as_asked.empty())
        return fail(Errc::mismatch, "{}", one.not_as_asked);
      if (one.data == analysis::DataState::wrong && one.is_default)
        return fail(Errc::failed, "{} delivers wrong data: nothing can be compared with it",
                    versions_.paths.front());
      if (one.data == analysis::DataState::wrong)
        return std::vector<double>();
      (one.is_default ? first : other) = analysis::process_times_ns(one);
    }
    return paired(first, other, pairs);
  }

  bool synthetic() const { return synthetic_; }
  // Of a run that ended early; otherwise nothing could be measured.
  int exit_code() const { return exit_code_; }

private:
  std::string command_of(std::size_t version, std::size_t pairs, const fs::path& file) const {
    const std::size_t colon = options_.cell.rfind(':');
    auto library = [&](const char* option, std::size_t at) {
      return fmt::format("{} {}", option,
                         base::shell_word(versions_.library + "=" + versions_.paths[at]));
    };
    std::string command = options_.launcher + (options_.launcher.empty() ? "" : " ");
    command += fmt::format(
        "{} run {} {} --collectives {} --sizes {} --repeat {} -q -o {}",
        base::shell_word(program_.string()), library("--library", 0),
        library("--compare-library", version), base::shell_word(options_.cell.substr(0, colon)),
        base::shell_word(options_.cell.substr(colon + 1)), pairs, base::shell_word(file.string()));
    if (options_.backend)
      command += " --backend " + base::shell_word(*options_.backend);
    if (options_.ranks)
      command += fmt::format(" --ranks {}", *options_.ranks);
    return command;
  }

  // The default is measured twice in each block, the other version once.
  static Result<std::vector<double>> paired(const std::vector<double>& first,
                                            const std::vector<double>& other, std::size_t pairs) {
    if (first.size() < 2 * pairs)
      return fail(Errc::failed, "the first version was measured {} times instead of {}",
                  first.size(), 2 * pairs);
    std::vector<double> ratios;
    if (other.size() == pairs)
      for (std::size_t i = 0; i < pairs; ++i)
        ratios.push_back(other[i] / std::sqrt(first[2 * i] * first[2 * i + 1]));
    return ratios;
  }

  const BisectOptions& options_;
  const VersionFiles& versions_;
  fs::path folder_, program_;
  int runs_ = 0;
  bool synthetic_ = false;
  int exit_code_ = base::k_exit_nothing;
};

struct Row {
  std::string path;
  StepComparison comparison;
  std::optional<analysis::Estimate> ratio;
};

std::string change_text(const Row& row) {
  auto percent = [](double ratio) { return fmt::format("{:+.1f}%", 100 * (ratio - 1)); };
  const analysis::Interval* interval = analysis::telling(*row.ratio);
  return percent(row.ratio->value) +
         (interval == nullptr
              ? ""
              : fmt::format(" [{}, {}]", percent(interval->low), percent(interval->high)));
}

analysis::Finding answer_of(const BisectOptions& options, const VersionFiles& versions,
                            const StepSearch& search, const std::vector<Row>& rows) {
  auto path = [&](std::size_t version) { return base::printable(versions.paths[version]); };
  const std::string least = fmt::format("{:g}%", 100 * options.least);
  if (const auto bad = search.first_bad()) {
    const auto row =
        std::ranges::find_if(rows, [&](const Row& one) { return one.comparison.version == *bad; });
    if (row->comparison.answer == StepAnswer::failed)
      return {&k_fails, {{"version", path(*bad)}, {"before", path(*bad - 1)}}};
    return {&k_slower,
            {{"version", path(*bad)},
             {"change", change_text(*row)},
             {"first", path(0)},
             {"before", path(*bad - 1)}}};
  }
  const StepComparison& last = search.comparisons().back();
  if (const auto between = search.narrowed_to())
    return {&k_between,
            {{"good", path(between->first)},
             {"bad", path(between->second)},
             {"pairs", last.ratios.size()},
             {"version", path(last.version)}}};
  analysis::Object values{{"last", path(last.version)}, {"first", path(0)}, {"least", least}};
  if (last.answer == StepAnswer::same)
    return {&k_same, values};
  values.emplace_back("pairs", last.ratios.size());
  return {&k_open, values};
}

analysis::Report report_of(const BisectOptions& options, const VersionFiles& versions,
                           const StepSearch& search, bool synthetic) {
  using analysis::Value;
  std::vector<Row> rows;
  for (const StepComparison& one : search.comparisons())
    rows.push_back({versions.paths[one.version], one,
                    one.ratios.empty() ? std::nullopt
                                       : std::optional(analysis::ratio_estimate(
                                             one.ratios, analysis::k_confidence))});
  const analysis::Finding answer = answer_of(options, versions, search, rows);
  analysis::TableOf<Row> table(std::move(rows));
  table.add("version", &Row::path).titled("version").left(40);
  table.add("pairs", [](const Row& row) { return row.comparison.ratios.size(); }).titled("pairs");
  table.add("ratio", [](const Row& row) {
    return row.ratio ? Value(analysis::six_digits(row.ratio->value)) : Value();
  });
  table.show("time against the first",
             [](const Row& row) { return row.ratio ? Value(change_text(row)) : Value(); });
  table
      .add("interval",
           [](const Row& row) {
             return row.ratio ? analysis::interval_value(row.ratio->interval) : Value();
           })
      .interval();
  table.add("answer", [](const Row& row) { return row.comparison.answer; }).titled("answer").left();
  const auto bad = search.first_bad();
  analysis::Section verdict{.key = "verdict", .part = analysis::Section::Part::answer};
  verdict.blocks.emplace_back(analysis::Findings{"Verdict", {answer}, 12});
  if (synthetic)
    verdict.blocks.emplace_back(
        analysis::Findings{"Warning", {{&analysis::k_synthetic_numbers}}, 12});
  analysis::Section comparisons{
      .key = "comparisons",
      .title = fmt::format("{} versions of {}, in the order of the search", versions.paths.size(),
                           base::printable(versions.library)),
      .blocks = {analysis::View{.table = table.table()}}};
  return {.title = "Bisect",
          .sections = {verdict, comparisons},
          .data = {{"schema", "ncclprobe.bisect"},
                   {"version", 1},
                   {"library", versions.library},
                   {"cell", options.cell},
                   {"versions", versions.paths},
                   {"first_bad", bad ? Value(versions.paths[*bad]) : Value()},
                   {"last_good", bad ? Value(versions.paths[*bad - 1]) : Value()},
                   {"comparisons", table.table()}},
          .rows = table.table()};
}

} // namespace

int bisect_command(const BisectOptions& options) {
  if (auto possible = check_destination(options.output); !possible)
    return give_up(possible.error());
  const auto versions = version_files(options.versions);
  if (!versions)
    return complain_of_input(k_bisect_command, versions.error());
  const PrivateFolder folder;
  if (folder.path().empty())
    return complain(k_bisect_command,
                    {Errc::io, "there is no folder for the run files", "name one in TMPDIR"},
                    base::k_exit_output);
  Measurement measurement(options, *versions, folder.path());
  StepSearch search(versions->paths.size(), options.least);
  while (const auto version = search.next()) {
    const auto ratios = measurement.ratios(*version, search.pairs());
    if (!ratios)
      return complain(k_bisect_command, ratios.error(), measurement.exit_code());
    if (ratios->empty())
      search.add_failure();
    else
      search.add(*ratios);
  }
  const bool is_open = search.comparisons().back().answer == StepAnswer::open;
  return deliver(report_of(options, *versions, search, measurement.synthetic()), options,
                 search.first_bad() ? base::k_exit_regression
                 : is_open          ? base::k_exit_undecided
                                    : base::k_exit_ok);
}

} // namespace ncclprobe::cli
