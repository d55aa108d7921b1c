// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/bisect/bisect_command.h"

#include "analysis/bisect/bisect_report.h"
#include "analysis/results/cell_summary.h"
#include "base/exit_code.h"
#include "base/log.h"
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
using analysis::StepSearch;

constexpr const char* k_bisect_command = "ncclprobe bisect";

// One run of `ncclprobe run` with the first version as the default, and another one beside it.
class Measurement {
public:
  Measurement(const BisectOptions& options, const VersionFiles& versions, fs::path folder,
              analysis::Bisection& bisection)
      : options_(options), versions_(versions), bisection_(bisection), folder_(std::move(folder)) {
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
      return fail({Errc::failed, fmt::format("this run ended with exit code {}: {}", code, command),
                   "run this command alone to see why"});
    }
    NCCLPROBE_TRY_ASSIGN(const analysis::RunSummary run, read_summary(file));
    bisection_.synthetic |= run.header.synthetic;
    note(version, run);
    std::vector<double> first, other;
    for (const analysis::SettingResult& one : analysis::setting_results(run)) {
      if (!one.not_as_asked.empty())
        return fail(Errc::mismatch, "{}", one.not_as_asked);
      if (one.data == analysis::DataState::wrong && one.is_default)
        return fail(
            Errc::failed,
            "the first version, {}, delivers wrong data, so nothing can be compared with it",
            versions_.paths.front());
      if (one.data == analysis::DataState::wrong)
        return std::vector<double>();
      (one.is_default ? first : other) = analysis::process_times_ns(one);
    }
    return paired(first, other, pairs);
  }

  // Of a run that ended early; otherwise nothing could be measured.
  int exit_code() const { return exit_code_; }

private:
  void note(std::size_t version, const analysis::RunSummary& run) {
    if (auto failure = analysis::failure_in(run))
      bisection_.failures.insert_or_assign(version, std::move(*failure));
    bisection_.choices.insert_or_assign(0, choices_in(run, analysis::BisectSide::first));
    bisection_.choices.insert_or_assign(version, choices_in(run, analysis::BisectSide::other));
  }

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
    if (options_.cell_deadline_ns)
      command += " --cell-timeout " + duration_words().write(*options_.cell_deadline_ns);
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
  analysis::Bisection& bisection_;
  fs::path folder_, program_;
  int runs_ = 0;
  int exit_code_ = base::k_exit_nothing;
};

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
                    {Errc::io, "no temporary folder could be made for the run files",
                     "set TMPDIR to a folder that can be written"},
                    base::k_exit_output);
  analysis::Bisection bisection{.library = versions->library,
                                .cell = options.cell,
                                .versions = versions->paths,
                                .least = options.least,
                                .search = StepSearch(versions->paths.size(), options.least)};
  Measurement measurement(options, *versions, folder.path(), bisection);
  StepSearch& search = bisection.search;
  while (const auto version = search.next()) {
    const auto ratios = measurement.ratios(*version, search.pairs());
    if (!ratios)
      return complain(k_bisect_command, ratios.error(), measurement.exit_code());
    if (ratios->empty()) {
      search.add_failure();
    } else {
      bisection.failures.erase(*version); // one process of several: its times count
      search.add(*ratios);
    }
  }
  const bool is_open = search.comparisons().back().answer == StepAnswer::open;
  return deliver(bisect_report(bisection), options,
                 search.first_bad() ? base::k_exit_regression
                 : is_open          ? base::k_exit_undecided
                                    : base::k_exit_ok);
}

} // namespace ncclprobe::cli
