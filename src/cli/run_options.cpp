// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/run_options.h"

#include "cli/compared_libraries.h"
#include "cli/option_values.h"
#include "cli/run_option_forms.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using base::Result;

constexpr const char* k_run_footer = R"(Examples:
  ncclprobe run --sizes 8:8G:x2 --collectives all_reduce
  ncclprobe run --set NCCL_ALGO=[Ring,Tree],Ring --repeat 5
  ncclprobe run --collectives all_reduce,all_to_all_v --types bf16 --counts 0,1,3,1023 --offset 0,1
  ncclprobe run --split 1,2 --streams 2 --graph --register --sizes 1M
  ncclprobe run --rank-set 0-3:NCCL_HOSTID=a --rank-set 4-7:NCCL_HOSTID=b \
      --set NCCL_NSOCKS_PERTHREAD=1,4
  ncclprobe run --workload ddp --model gpt2-124m --batch 8 --type bf16 --ranks 1,2,4,8
  ncclprobe run --workload ddp --model linear:8192x16 --bucket 10M,25M,100M \
      --set NCCL_MAX_CTAS=4,8,16 --ranks 8
  ncclprobe run --library nccl=/opt/nccl-2.27/lib/libnccl.so.2 --no-sweep
  ncclprobe run --compare-library nccl=/opt/nccl-2.28/libnccl.so.2,/opt/nccl-2.29/libnccl.so.2
  ncclprobe run --set LD_LIBRARY_PATH=/opt/cuda-12.8/lib64,/opt/cuda-13.0/lib64 \
      --workload ddp --model gpt2-124m

A variable that is set in the launching environment is pinned: it is passed on and never swept,
unless --override names it.

--resume run.h5 reads everything else from the run file and runs the trials that are missing: those
that were never started, and those that were stopped before all their cells had ended. These are run
again whole, and replace what is stored of them. Trials that came to an end are not run again,
whatever their outcome; with --retry-failed those are that failed, timed out or crashed. The report
and the exit code are those of the whole run. Another machine, program, library or environment is
refused (exit code 6), with a list of what differs. Libraries, worker programs, model files and
variables that could load something are taken from the run file only if --library,
--compare-library, --model, --set or --rank-set name them again (exit code 2, with the command).)";

constexpr const char* k_plan_footer = R"(Examples:
  ncclprobe plan --dry-run                   the trials of the default job, and their expected time
  ncclprobe plan --set NCCL_PROTO=LL,Simple > sweep.toml
  ncclprobe run --plan sweep.toml)";

constexpr const char* k_settings = "What is compared";

// Options of `run` and `plan`: the same, declared once.
void declare(CLI::App& app, RunOptions& options) {
  app.add_option("--plan", options.plan_file, "Plan file (TOML); what the command line says wins")
      ->type_name("FILE");
  add_run_file(app, options.output);
  add_quiet(app, options.verbosity, "No progress");
  add_verbose(app, options.verbosity);
  CLI::Option* sweep =
      add_texts(app, "--set", "NAME=V,V",
                "Sweep a variable; several --set make a grid; [a,b] is one value with a comma",
                [&](const std::string& value) -> Result<void> {
                  NCCLPROBE_TRY_ASSIGN(auto axis, workload::parse_axis(value));
                  options.axes.push_back(std::move(axis));
                  return {};
                });
  CLI::Option* compare =
      add_texts(app, "--compare-library", "NAME=PATH,...",
                "Sweep the file of a library, as --set does a variable, or with worker=PATH "
                "ncclprobe-worker itself; the default loads what --library says",
                [&](const std::string& value) {
                  return add_compared_library(value, options.compared_libraries);
                });
  CLI::Option* of_ranks = add_texts(
      app, "--rank-set", "RANKS:NAME=V",
      "Set a variable on some ranks of every trial, such as 0-3:NCCL_HOSTID=a",
      [&](const std::string& value) { return add_rank_setting(value, options.per_rank); });
  CLI::Option* library = add_library(app, options.libraries);
  CLI::Option* override_it = app.add_option("--override", options.overrides,
                                            "Take this variable as you give it: sweep it "
                                            "although the environment sets it, and although NCCL "
                                            "would probably refuse it")
                                 ->type_name("NAME");
  CLI::Option* no_sweep =
      app.add_flag("--no-sweep", options.no_sweep, "Measure the default settings only")
          ->excludes(sweep)
          ->excludes(compare);
  for (CLI::Option* one : {sweep, compare, of_ranks, library, override_it, no_sweep})
    one->group(k_settings);
  for (const RunFormGroup& group : run_option_forms())
    declare_forms(app, options, group.forms, group.title);
  declare_workload_options(app, options.workload);
  no_sweep->excludes(app.get_option("--cpu-affinity"));
}

// Options of `run` alone.
void declare_resume(CLI::App& run, RunOptions& options) {
  CLI::Option* resume = run.add_option("--resume", options.resume_file,
                                       "Resume this run; all other options come from its file")
                            ->type_name("RUN.h5");
  run.add_flag("--retry-failed", options.retry_failed,
               "With --resume: run trials again that failed, timed out or crashed")
      ->needs(resume);
  run.add_flag("--force", options.force,
               "Replace the run file if it is there, and its traces; with --resume: go on under "
               "other conditions, and the file and its report say so");
}

} // namespace

void declare_run_options(CLI::App& run, RunOptions& options) {
  declare(run, options);
  declare_resume(run, options);
  run.footer(k_run_footer);
}

void declare_plan_options(CLI::App& plan, RunOptions& options) {
  declare(plan, options);
  plan.footer(k_plan_footer);
}

void check_resumed_alone(const CLI::App& run, const RunOptions& options) {
  if (options.resume_file.empty())
    return;
  // Beside those of --resume itself, what may name again what the run loads (named_again.h).
  constexpr std::array k_company{"--resume",  "--retry-failed",    "--force",    "--quiet",
                                 "--verbose", "--output",          "--help",     "--set",
                                 "--library", "--compare-library", "--rank-set", "--model"};
  for (const CLI::Option* option : run.get_options())
    if (option->count() > 0 &&
        std::ranges::none_of(k_company, [&](const char* name) { return option->check_name(name); }))
      throw CLI::ValidationError(
          "--resume",
          fmt::format("{} cannot be changed: the run goes on as it was begun", option->get_name()));
  if (options.output && *options.output != options.resume_file)
    throw CLI::ValidationError("--resume",
                               fmt::format("the run goes on in {} itself, not in {}: leave out "
                                           "--output, or copy the file and resume the copy",
                                           options.resume_file, *options.output));
}

} // namespace ncclprobe::cli
