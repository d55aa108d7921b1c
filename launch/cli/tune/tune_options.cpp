// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/job/run_options.h"
#include "launch/cli/tune/tune_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_tune_about =
    "The transport in use decides which settings are tried, and in which order. First, tune "
    "measures the default against itself, which gives the noise floor. A gain counts only if it "
    "exceeds the noise floor and --min-gain. Candidates then run in turns with the default, and "
    "slow ones are dropped early. The best candidates are proven with new measurements, in fresh "
    "processes that run in turns with the default. A tuner table is then loaded as a job would "
    "load it, and measured once more. A candidate that hangs, crashes or delivers wrong data "
    "loses, and is not tried again.\n\n"
    "A variable that is already set in the environment is pinned: all trials use that value, and "
    "none changes it, unless --override names it.\n\n"
    "The folder gets the run files of the search (tune.h5) and of the proof (proof.h5), and the "
    "report as JSON (tuning.json), with the reason for every trial. It also "
    "gets the settings: as nccl.conf, as lines for a shell, mpirun, Slurm and torchrun, as fields "
    "of ncclConfig_t and as arguments of PyTorch. If nothing is proven, the folder gets no "
    "settings: keep the defaults. If it has a tuner table, `ncclprobe tuner check` says what "
    "becomes "
    "of each row, and `mpirun ... ncclprobe doctor` tries plugin and table on every rank.";

} // namespace

Usage tune_usage(TuneOptions& into) {
  return {
      .name = "tune",
      .summary = "Find settings that are faster than the defaults, and prove it",
      .about = k_tune_about,
      .examples = {{"ncclprobe tune", "all_reduce on all GPUs of this node, for 10 minutes"},
                   {"ncclprobe tune --dry-run", "what would be tried, and how long it takes"},
                   {"mpirun -np 16 ncclprobe tune --for all_reduce:1M-256M --budget 5m"},
                   {"ncclprobe tune --for ddp:gpt2-124m -o tuned-gpt2",
                    "make this training step faster"},
                   {"ncclprobe tune --for job/", "make the step of a recorded job faster"},
                   {"ncclprobe tune --check-environment",
                    "which environment variables have no effect, and which do harm"},
                   {". tuned/settings.sh", "use the settings"}},
      .exits = {{base::k_exit_some_failed, "the default or the proof failed"},
                {base::k_exit_nothing, "nothing could be measured"},
                {base::k_exit_wrong_data, "the default or the proof delivered wrong data"},
                {base::k_exit_environment, "the launch does not fit the machine"},
                {base::k_exit_interrupted, "interrupted"}},
      .options = joined(
          {in_group("What is tuned",
                    {repeated("for", "TARGET", into.targets, tune_target_words(),
                              "A collective with its sizes (all_reduce:1M-256M, all_gather:8K,1M), "
                              "a training step with its model (ddp:gpt2-124m), or the folder of a "
                              "recorded job (job/), whose step is replayed",
                              {.initial = "all_reduce:1M-256M, on the CPU 64K-4M"}),
                     option("plan", "FILE", into.plan_file, text_words("sweep.toml"),
                            "Tune for the cells of this plan file (TOML)", {.excludes = {"for"}}),
                     option("budget", "TIME", into.time_ns, duration_words(),
                            "Time limit of the search and the proof together", {.initial = "10m"}),
                     option("min-gain", "SHARE", into.min_gain, share_words(),
                            "Ignore smaller gains", {.initial = "2%"}),
                     flag("with-compression", into.with_compression,
                          "Training steps: also try compressed gradients, which lose precision"),
                     repeated("override", "NAME", into.overrides, text_words("NCCL_ALGO"),
                              "Tune this variable even if the environment sets it, and also try "
                              "unsetting it"),
                     flag("check-environment", into.check_environment,
                          "Tune nothing; test each NCCL variable that the environment sets by "
                          "leaving it out")}),
           in_group("Where", {backend_option(into.backend), ranks_option(into.ranks, k_most),
                              rank_set_option(into.per_rank), library_option(into.libraries)}),
           in_group("Measuring", joined({{seed_option(into.seed), note_option(into.note)},
                                         timeout_options(into)})),
           in_group("Results",
                    {option("output", "FOLDER", into.folder, path_words("tuned"),
                            "Folder for the results; created if it does not exist", {.also = "-o"}),
                     flag("force", into.force, "Replace earlier results in the folder"),
                     flag("dry-run", into.dry_run,
                          "Show what would be tried and the expected time, and measure nothing"),
                     format_option(into.format)}),
           log_options(into.verbosity)})};
}

} // namespace ncclprobe::cli
