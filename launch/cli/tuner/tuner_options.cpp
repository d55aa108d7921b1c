// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/tuner/tuner_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_tuner_about =
    "A tuner table selects the algorithm, protocol and number of channels that NCCL uses for each "
    "call. Any program uses the table if you set "
    "NCCL_TUNER_PLUGIN=.../lib/libncclprobe-tuner.so and NCCLPROBE_TUNER_TABLE=PATH@SHA256. "
    "`tuner check` prints both. With NCCLPROBE_TUNER_HITS=hits-%h-%p.csv, each process also writes "
    "how often it used each row.\n\n"
    "Without --against, `tuner check` assumes that the job has this environment's variables.";

Result<void> check_tuner_options(const TunerOptions& options) {
  const bool converts = options.action == "convert";
  if (converts && options.converted.empty())
    return fail({Errc::invalid_argument, "convert needs a file to write",
                 "ncclprobe tuner convert IN OUT"});
  if (converts && (!options.run_file.empty() || !options.hits.empty() || options.ranks > 0))
    return fail(Errc::invalid_argument, "--against, --hits and --ranks are for `tuner check`");
  if (options.nodes > 1 && options.ranks < options.nodes)
    return fail(Errc::invalid_argument, "--nodes {}: name at least as many --ranks", options.nodes);
  if (!converts && !options.converted.empty())
    return fail(
        {Errc::invalid_argument,
         fmt::format("check takes one table: {} is one too many", options.converted.string()),
         "--against takes a run file, --hits the counts of a job"});
  return {};
}

} // namespace

Usage tuner_usage(TunerOptions& into) {
  return {
      .name = "tuner",
      .summary = "Check or convert a tuner table, which selects algorithms for NCCL",
      .about = k_tuner_about,
      .examples = {{"ncclprobe tuner check table.csv",
                    "rows that NCCL cannot use, or that a variable disables"},
                   {"ncclprobe tuner check table.csv --ranks 16 --nodes 2",
                    "also rows that such a job can never use"},
                   {"ncclprobe tuner check table.csv --hits hits-node1-4711.csv",
                    "how often a job used each row"},
                   {"ncclprobe tuner check table.csv --against run.h5",
                    "which cells of this run followed the table"},
                   {"ncclprobe tuner convert table.csv nccl_tuner.conf",
                    "a configuration for NVIDIA's example tuner"},
                   {"ncclprobe tuner convert nccl_tuner.conf table.csv", "the other direction"}},
      .exits = {{base::k_exit_failures, "NCCL cannot use a row, or a variable disables it"}},
      .options = joined(
          {{option("action", "ACTION", into.action, choice_words({"check", "convert"}),
                   "check: say whether NCCL uses each row; convert: to or from the format of "
                   "NVIDIA's example tuner",
                   {.example = "check", .positional = true, .required = true}),
            option("table", "TABLE", into.input, path_words("table.csv"),
                   "Tuner table; convert also reads NVIDIA's configuration",
                   {.positional = true, .required = true}),
            option("converted", "OUT", into.converted, path_words("nccl_tuner.conf"),
                   "convert: the file to write", {.positional = true}),
            input_option(
                "against", into.run_file,
                "Run file measured with this table: check how its cells ran, with its variables",
                {}),
            repeated("hits", "FILE", into.hits, path_words("hits.csv"),
                     "File that a process wrote because of NCCLPROBE_TUNER_HITS"),
            option("ranks", "N", into.ranks, number_words(1, k_most),
                   "Number of ranks of the job: report rows for larger communicators",
                   {.initial = "any"}),
            option("nodes", "N", into.nodes, number_words(1, k_most),
                   "Number of nodes that these ranks run on")},
           result_options(into, {"table", "json", "csv", "markdown"})}),
      .check = [&into](const Options&) { return check_tuner_options(into); }};
}

} // namespace ncclprobe::cli
