// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/export_options.h"

#include "base/error.h"
#include "base/exit_code.h"
#include "cli/command_line.h"
#include "cli/common_options.h"
#include "cli/help_layout.h"

#include <CLI/CLI.hpp>

#include <charconv>

namespace ncclprobe::cli {
namespace {

constexpr int k_most_ranks = 1'000'000;

constexpr const char* k_footer = R"(
Examples:
  ncclprobe export run.h5 --perfetto out.pftrace                 open it at ui.perfetto.dev
  ncclprobe export run.h5 --chrome out.json --window 0:5ms       for chrome://tracing
  ncclprobe export run.h5 --perfetto out.pftrace --window step:3-5
  ncclprobe export run.h5 --csv tables/ --ranks 0,4-7 --trial 12
  ncclprobe export run.trace/trial-000012.h5 --perfetto out.pftrace
  ncclprobe export job/ --perfetto out.pftrace                   what the profiler plugin wrote in job/

Hosts are processes, each rank's streams and NCCL's channels threads; the parts of a collective on
all ranks are joined by flows; counters show the bytes in flight. Times are on the clock of the
first rank's host and count from the trace's first event; with --window from the begin of the timed
part, as the window's do. CSV has them in the column aligned_ns; its other times are by each rank's
own clock, as in the trace. Steps are counted from 0 over all cells. Nothing that is read is written
over.

Exit codes: 0 written, 2 bad arguments, or a file that is no readable trace, 7 the output could not be written.
)";

// "0,4-7"
base::Result<void> parse_ranks(const std::string& text, std::set<int>& ranks) {
  auto bad = [&] {
    return base::fail({base::Errc::invalid_argument, fmt::format("'{}' is no list of ranks", text),
                       "write such as 0,4-7"});
  };
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t comma = std::min(text.find(',', at), text.size());
    const char* end = text.data() + comma;
    int first = 0;
    auto [next, error] = std::from_chars(text.data() + at, end, first);
    int last = first;
    if (error == std::errc() && next != end && *next == '-') {
      auto [rest, no_number] = std::from_chars(next + 1, end, last);
      next = rest;
      error = no_number;
    }
    if (error != std::errc() || next != end || first < 0 || last < first || last > k_most_ranks)
      return bad();
    for (int rank = first; rank <= last; ++rank)
      ranks.insert(rank);
    at = comma + 1;
  }
  return {};
}

void check(const base::Result<void>& result, const char* option) {
  if (!result)
    throw CLI::ValidationError(option, result.error().text());
}

} // namespace

std::variant<ExportOptions, int> parse_export_arguments(const std::vector<std::string>& arguments,
                                                        std::ostream& out, std::ostream& err) {
  ExportOptions options;
  CLI::App app{
      "Writes a trace for other programs. Needs no GPU, no MPI and not the machine of the run."};
  app.name("ncclprobe export");
  use_help_layout(app);
  app.footer(k_footer);
  app.add_option("trace", options.path, "Run file, one of its traces, or a folder of spools")
      ->required()
      ->type_name("RUN.h5");
  app.add_option("--perfetto", options.perfetto, "Perfetto's own format")->type_name("FILE");
  app.add_option("--chrome", options.chrome, "JSON of chrome://tracing")->type_name("FILE");
  app.add_option("--csv", options.csv_folder, "Each table as a CSV file in this folder")
      ->type_name("DIR");
  add_force(app, options.overwrite, "Replace files that are there");
  app.add_option_function<std::string>(
         "--window",
         [&](const std::string& text) {
           auto window = parse_window(text);
           if (!window)
             throw CLI::ValidationError("--window", window.error().text());
           options.window = std::move(*window);
         },
         k_window_help)
      ->type_name("WINDOW");
  app.add_option_function<std::string>(
         "--ranks",
         [&](const std::string& text) { check(parse_ranks(text, options.ranks), "--ranks"); },
         "Only these ranks, such as 0,4-7")
      ->type_name("LIST");
  app.add_option("--trial", options.trial,
                 "Of a run file: this trial; default: the first traced one")
      ->type_name("N");
  auto check = [&] {
    if (options.perfetto.empty() && options.chrome.empty() && options.csv_folder.empty())
      throw CLI::RequiredError("--perfetto FILE, --chrome FILE or --csv DIR");
  };
  if (auto leave = parse_arguments(app, arguments, out, err, check))
    return *leave;
  return options;
}

} // namespace ncclprobe::cli
