// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/common_options.h"
#include "launch/cli/report/report_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_report_about =
    "The report of an unfinished run is made from its parts (run.h5.parts next to run.h5), which "
    "stay unchanged. Only --fold writes files next to the input. The trace of a captured job is "
    "cached in $XDG_CACHE_HOME/ncclprobe or ~/.cache/ncclprobe. Failed trials do not change the "
    "exit code of `report`.";

Option what_if_option(std::vector<analysis::job::WhatIf>& into) {
  return repeated(
      "what-if", "CHANGE", into,
      Words<analysis::job::WhatIf>{analysis::job::parse_what_if,
                                   [](const analysis::job::WhatIf& what) { return what.text; },
                                   "rank:7=median"},
      "Predict how long the steps of a captured job would take after this change: "
      "rank:7=median, host=none, input=none, transfers=median, computing=-10%, all_reduce=-20%, "
      "all_reduce:data=-20%, bucket=100M; join several changes with +");
}

base::Result<void> check(ReportOptions& options) {
  auto refuse = [](const char* why) { return base::fail({base::Errc::invalid_argument, why, ""}); };
  options.timeline = options.timeline || std::filesystem::is_directory(options.run_file);
  const bool csv = options.format == analysis::Format::csv;
  if (!options.timeline &&
      (options.trial || options.steps || options.window || !options.ranks.empty()))
    return refuse("--trial, --steps, --window and --ranks are for the timeline: add --timeline");
  if (!options.what_ifs.empty() && !options.timeline)
    return refuse("--what-if is for captured jobs: give the folder of one");
  if (!options.prices.empty() && (options.timeline || csv))
    return refuse("--price does not go with --timeline or csv");
  if (options.brief && (options.timeline || !options.prices.empty()))
    return refuse("--brief prints the answer of a run, without --timeline and --price");
  return {};
}

} // namespace

Usage report_usage(ReportOptions& into) {
  return {
      .name = "report",
      .summary = "Print the report of a run file",
      .about = k_report_about,
      .examples =
          {{"ncclprobe report run.h5"},
           {"ncclprobe report run.h5 --brief", "what to set, ready to paste"},
           {"ncclprobe report run.h5 -o run.csv"},
           {"ncclprobe report run.h5 -o run.html", "one page with charts, for any browser"},
           {"ncclprobe report run.h5 --timeline", "what the traced trial's devices did"},
           {"ncclprobe report run.h5 --timeline --window step:3-5", "only these steps"},
           {"ncclprobe report run.h5 --price H200=30000", "what a GB/s and an effective GPU cost"},
           {"ncclprobe report job/", "a job captured by libncclprobe-profiler.so"},
           {"ncclprobe report job/ --what-if rank:7=median --what-if all_reduce=-20%",
            "which change would make its steps shorter?"},
           {"ncclprobe report run.h5 --format json | jq '.results[] | {setting, busbw_gb_per_s}'"}},
      .options = joined(
          {{input_option("run_file", into.run_file,
                         "Run file. For a timeline, it can also be a trace file or the folder of a "
                         "captured job"),
            flag("fold", into.fold,
                 "First combine the parts of a stopped run (RUN.h5.parts) into its run file and "
                 "traces"),
            flag("brief", into.brief, "Print only the answer: what to set, and how certain it is"),
            flag("timeline", into.timeline,
                 "Print the timeline of a traced trial: steps, overlap, waits, stragglers, clocks, "
                 "lost records"),
            trial_option(into.trial),
            flag("steps", into.steps, "With --timeline, in JSON and CSV: list each step"),
            window_option(into.window), traced_ranks_option(into.ranks),
            what_if_option(into.what_ifs), format_option(into.format),
            price_option(into.prices,
                         "Price of a GPU in any currency, or GPU=VALUE for each model; the report "
                         "then shows the price of a GB/s of busbw and of an effective GPU")},
           text_file_options(into.output),
           log_options(into.verbosity)}),
      .check = [&into](const Options&) { return check(into); }};
}

} // namespace ncclprobe::cli
