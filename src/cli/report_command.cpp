// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/report_command.h"

#include "analysis/p2p_matrix.h"
#include "analysis/prices.h"
#include "base/console.h"
#include "base/exit_code.h"
#include "base/number_list.h"
#include "base/version.h"
#include "cli/command_line.h"
#include "cli/common_options.h"
#include "cli/help_layout.h"
#include "cli/option_values.h"
#include "cli/report_files.h"
#include "cli/timeline_command.h"
#include "cli/traced_steps.h"
#include "model/parse_enum.h"
#include "store/run_file.h"
#include "store/trace_file.h"

#include <CLI/CLI.hpp>

#include <ostream>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_footer = R"(
Examples:
  ncclprobe report run.h5
  ncclprobe report run.h5 --format csv --output run.csv
  ncclprobe report run.h5 --timeline                 what the traced trial's devices did
  ncclprobe report run.h5 --timeline --window step:3-5   of these steps alone
  ncclprobe report run.h5 --price H200=30000         what a GB/s and an effective GPU cost
  ncclprobe report job/                              a job captured by libncclprobe-profiler.so
  ncclprobe report run.h5 --format json | jq '.results[] | {setting, size_bytes, busbw_gb_per_s}'

A run that never came to its end is read from its parts (run.h5.parts beside run.h5), which stay as
they are. Nothing is written beside what is read, but with --fold: traces of a captured job are kept
in the user's cache ($XDG_CACHE_HOME/ncclprobe or ~/.cache/ncclprobe).

Exit codes: 0 the report was written, 2 bad arguments or a file that is no readable run, 6 no memory
or process to read it with, 7 the report could not be written. The report does not judge: failed
trials do not change the code.
)";

constexpr const char* k_command = "ncclprobe report";

} // namespace

std::variant<ReportOptions, int> parse_report_arguments(const std::vector<std::string>& arguments,
                                                        std::ostream& out, std::ostream& err) {
  ReportOptions options;
  std::string run_file;
  std::string format = "table";
  std::string window;
  std::string ranks;
  std::vector<std::string> prices;
  CLI::App app{
      "Prints the report of a run file. Needs no GPU, no MPI and not the machine of the run."};
  app.name("ncclprobe report");
  use_help_layout(app);
  app.footer(k_footer);
  app.set_version_flag("--version",
                       fmt::format("ncclprobe-report {} (reads run files of schema {}.{})",
                                   base::version(), store::k_schema_major, store::k_schema_minor));
  app.add_option("run_file", run_file,
                 "Run file, as `ncclprobe` wrote it; or a trace file, or the folder of a captured "
                 "job, for their timeline")
      ->required()
      ->type_name("RUN.h5");
  app.add_flag(
      "--fold", options.fold,
      "Of a run that was stopped: first make its run file, and files of its traces, of what "
      "lies in RUN.h5.parts");
  app.add_flag("--timeline", options.timeline,
               "Of a traced trial: steps, overlap, waits, stragglers, clocks, losses");
  app.add_option("--trial", options.trial, "Which traced trial (default: the first)")
      ->type_name("N");
  app.add_flag("--steps", options.steps, "With --timeline --format json: each step by itself");
  app.add_option("--window", window, fmt::format("With --timeline: {}", k_window_help))
      ->type_name("WINDOW");
  app.add_option("--ranks", ranks, "With --timeline: only figures of these, such as 0,4-7")
      ->type_name("LIST");
  app.add_option("-f,--format", format,
                 "table (for people), json (one object), csv (a row for each cell); default: table")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "csv"}));
  app.add_option("--price", prices,
                 "What a GPU costs, in your unit: VALUE, or GPU=VALUE for each model; may be "
                 "repeated. Adds what a GB/s of busbw and an effective GPU cost")
      ->type_name("[GPU=]VALUE")
      ->allow_extra_args(false);
  add_text_file(app, options.output);
  if (auto leave = parse_arguments(app, arguments, out, err))
    return *leave;
  options.run_file = run_file;
  options.format = base::value_or_throw(model::parse_enum<analysis::Format>(format, "format"));
  options.timeline = options.timeline || std::filesystem::is_directory(run_file);
  if (options.timeline && options.format == analysis::Format::csv) {
    err << "ncclprobe report: the timeline is printed as table or json; ncclprobe export --csv "
           "writes the tables of a trace\n";
    return base::k_exit_usage;
  }
  if (!options.timeline && (options.trial || options.steps || !window.empty() || !ranks.empty())) {
    err << "ncclprobe report: --trial, --steps, --window and --ranks are of the timeline: add "
           "--timeline\n";
    return base::k_exit_usage;
  }
  for (const std::string& text : prices)
    if (auto added = add_price(text, options.prices); !added) {
      err << "ncclprobe report: --price: " << added.error().text() << "\n";
      return base::k_exit_usage;
    }
  if (!prices.empty() && (options.timeline || options.format == analysis::Format::csv)) {
    err << "ncclprobe report: --price goes with the report as table or json\n";
    return base::k_exit_usage;
  }
  if (!window.empty()) {
    auto parsed = parse_window(window);
    if (!parsed) {
      err << "ncclprobe report: --window: " << parsed.error().text() << "\n";
      return base::k_exit_usage;
    }
    options.window = std::move(*parsed);
  }
  if (!ranks.empty()) {
    options.ranks = base::parse_number_list(ranks);
    if (options.ranks.empty()) {
      err << "ncclprobe report: --ranks: '" << ranks
          << "' is no list of ranks: write such as 0,4-7\n";
      return base::k_exit_usage;
    }
  }
  return options;
}

namespace {

base::Result<void> fold(const std::filesystem::path& run_file, std::ostream& err) {
  NCCLPROBE_TRY_ASSIGN(const store::FoldReport folded, store::fold(run_file));
  for (const std::string& damaged : folded.damaged)
    err << base::hanging(fmt::format("{}: left out of the run file: {}", k_command, damaged))
        << "\n";
  for (const std::string& remark : folded.trace_remarks)
    err << base::hanging(fmt::format("{}: {}", k_command, remark)) << "\n";
  return {};
}

base::Result<std::string> text_of(const ReportOptions& options, std::ostream& err) {
  if (options.fold)
    NCCLPROBE_TRY(fold(options.run_file, err));
  if (options.timeline)
    return timeline_text({options.run_file, options.trial, options.format == analysis::Format::json,
                          options.steps, options.window, options.ranks},
                         err);

  auto read = read_summary_or_parts(options.run_file);
  // A trace by itself has nothing but its timeline.
  if (!read && read.error().code == base::Errc::protocol &&
      options.format != analysis::Format::csv && options.prices.empty() &&
      store::TraceFile::open(options.run_file))
    return timeline_text(
        {.path = options.run_file, .json = options.format == analysis::Format::json}, err);
  NCCLPROBE_TRY_ASSIGN(const analysis::RunSummary run, std::move(read));
  std::optional<double> price_per_gpu;
  if (!options.prices.empty() && analysis::is_p2p(run))
    return base::fail(base::Errc::invalid_argument,
                      "--price goes with collectives and steps, and this run is of P2P transfers");
  if (!options.prices.empty()) {
    NCCLPROBE_TRY_ASSIGN(price_per_gpu, analysis::price_per_gpu(run, options.prices));
  }
  const TracedSteps traced = traced_steps(options.run_file, run);
  for (const std::string& remark : traced.remarks)
    err << "ncclprobe report: " << remark << "\n";
  return analysis::render_report(run, options.format, price_per_gpu, traced.cells);
}

} // namespace

int report_run(const ReportOptions& options, std::ostream& out, std::ostream& err) {
  if (auto possible = check_output(options.output, {options.run_file}); !possible)
    return complain(err, k_command, possible.error(), exit_code_of_output(possible.error()));
  auto text = text_of(options, err);
  if (!text)
    return complain_of_input(err, k_command, text.error());
  return write_text(*text, options.output, out, err, k_command);
}

} // namespace ncclprobe::cli
