// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/common_options.h"
#include "launch/cli/export/export_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_export_about =
    "Hosts become processes; each rank's streams and NCCL's channels become threads. Flows connect "
    "the parts of a collective on all ranks, and counters show the bytes in flight. Times are on "
    "the clock of the first rank's host. They count from the trace's first event or, with "
    "--window, from the start of the timed part. In CSV, only the column aligned_ns is on that "
    "clock; other times are on each rank's own clock, as in the trace. Steps are counted from 0 "
    "over all cells. Input files are never overwritten.";

Result<void> check_export_options(const ExportOptions& options) {
  if (options.perfetto.empty() && options.chrome.empty() && options.csv_folder.empty())
    return fail(Errc::invalid_argument, "--perfetto FILE, --chrome FILE or --csv DIR is required");
  return {};
}

} // namespace

Usage export_usage(ExportOptions& into) {
  return {
      .name = "export",
      .summary = "Write a trace for other programs",
      .about = k_export_about,
      .examples = {{"ncclprobe export run.h5 --perfetto out.pftrace", "open it at ui.perfetto.dev"},
                   {"ncclprobe export run.h5 --chrome out.json --window 0:5ms",
                    "for chrome://tracing"},
                   {"ncclprobe export run.h5 --perfetto out.pftrace --window step:3-5"},
                   {"ncclprobe export run.h5 --csv tables/ --ranks 0,4-7 --trial 12"},
                   {"ncclprobe export run.trace/trial-000012.h5 --perfetto out.pftrace"},
                   {"ncclprobe export job/ --perfetto out.pftrace",
                    "what the profiler plugin wrote in job/"}},
      .options = joined(
          {{input_option("trace", into.path,
                         "Run file, one of its traces, or the folder of a captured job"),
            option("perfetto", "FILE", into.perfetto, path_words("out.pftrace"),
                   "Write Perfetto's native format"),
            option("chrome", "FILE", into.chrome, path_words("out.json"),
                   "Write JSON for chrome://tracing"),
            option("csv", "DIR", into.csv_folder, path_words("tables/"),
                   "Write each table as a CSV file into this folder"),
            force_option(into.overwrite, "Replace files that exist"), window_option(into.window),
            traced_ranks_option(into.ranks), trial_option(into.trial)},
           log_options(into.verbosity)}),
      .check = [&into](const Options&) { return check_export_options(into); }};
}

} // namespace ncclprobe::cli
