// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/tuner/tuner_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_tuner_about =
    "A tuner table says which algorithm, protocol and channels NCCL uses for which calls. Any "
    "program follows it with NCCL_TUNER_PLUGIN=.../lib/libncclprobe-tuner.so and "
    "NCCLPROBE_TUNER_TABLE=PATH@SHA256; `tuner check` prints both. With "
    "NCCLPROBE_TUNER_HITS=hits-%h-%p.csv, each process writes how often it used each row.\n\n"
    "Without --against, the variables of this environment are those of the job.";

Result<void> check_tuner_options(const TunerOptions& options) {
  const bool converts = options.action == "convert";
  if (converts && options.converted.empty())
    return fail({Errc::invalid_argument, "convert needs a file to write",
                 "ncclprobe tuner convert IN OUT"});
  if (converts && (!options.run_file.empty() || !options.hits.empty()))
    return fail(Errc::invalid_argument, "--against and --hits are for `tuner check`");
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
      .summary = "Check or convert a tuner table, by which NCCL chooses algorithms",
      .about = k_tuner_about,
      .examples = {{"ncclprobe tuner check table.csv",
                    "what NCCL cannot do, and what variables prevent"},
                   {"ncclprobe tuner check table.csv --hits hits-node1-4711.csv",
                    "how often a job used each row"},
                   {"ncclprobe tuner check table.csv --against run.h5",
                    "which cells of a run with this table ran as it says"},
                   {"ncclprobe tuner convert table.csv nccl_tuner.conf",
                    "for NVIDIA's example tuner"},
                   {"ncclprobe tuner convert nccl_tuner.conf table.csv", "from it"}},
      .exits = {{base::k_exit_failures, "a row is impossible, or a variable prevents it"}},
      .options = joined(
          {{option(
                "action", "ACTION", into.action, choice_words({"check", "convert"}),
                "check: say what becomes of each row; convert: from or to NVIDIA's example tuner",
                {.example = "check", .positional = true, .required = true}),
            option("table", "TABLE", into.input, path_words("table.csv"),
                   "Tuner table; convert also reads NVIDIA's configuration",
                   {.positional = true, .required = true}),
            option("converted", "OUT", into.converted, path_words("nccl_tuner.conf"),
                   "convert: the file to write", {.positional = true}),
            input_option("against", into.run_file,
                         "Run file with this table: how its cells ran, and its variables", {}),
            repeated("hits", "FILE", into.hits, path_words("hits.csv"),
                     "What a process wrote to NCCLPROBE_TUNER_HITS")},
           result_options(into, {"table", "json", "csv", "markdown"})}),
      .check = [&into](const Options&) { return check_tuner_options(into); }};
}

} // namespace ncclprobe::cli
