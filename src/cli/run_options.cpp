// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/run_options.h"

#include "base/units.h"
#include "cli/common_options.h"
#include "cli/compared_libraries.h"
#include "cli/option_values.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using base::Result;

constexpr const char* k_run_footer = R"(Examples:
  ncclprobe run --sizes 8:8G:x2 --collectives all_reduce
  ncclprobe run --set NCCL_ALGO=[Ring,Tree],Ring --repeat 5
  ncclprobe run --collectives all_reduce,all_to_all_v --types bf16,f8e4m3 --counts 0,1,3,1023 --offset 0,1
  ncclprobe run --split 1,2 --streams 2 --graph --register --sizes 1M
  ncclprobe run --rank-set 0-3:NCCL_HOSTID=a --rank-set 4-7:NCCL_HOSTID=b --set NCCL_NSOCKS_PERTHREAD=1,4
  ncclprobe run --workload ddp --model gpt2-124m --batch 8 --sequence 1024 --type bf16 --ranks 1,2,4,8
  ncclprobe run --workload ddp --model linear:8192x16 --bucket 10M,25M,100M --set NCCL_MAX_CTAS=4,8,16 --ranks 8
  ncclprobe run --library nccl=/opt/nccl-2.27/lib/libnccl.so.2 --no-sweep
  ncclprobe run --compare-library nccl=/opt/nccl-2.28/lib/libnccl.so.2,/opt/nccl-2.29/lib/libnccl.so.2
  ncclprobe run --set LD_LIBRARY_PATH=/opt/cuda-12.8/lib64,/opt/cuda-13.0/lib64 --workload ddp --model gpt2-124m

A variable that is set in the launching environment is pinned: it is passed on and never swept, unless
--override names it.

--resume run.h5 reads everything else from the run file and runs the trials that are missing: those that were never
started, and those that were stopped before all their cells had ended. These are run again whole, and replace what is
stored of them. Trials that came to an end are not run again, whatever their outcome; with --retry-failed those are
that failed, timed out or crashed. The report and the exit code are those of the whole run. Another machine, program,
library or environment is refused (exit code 6), with a list of what differs.)";

constexpr const char* k_plan_footer = R"(Examples:
  ncclprobe plan --dry-run                   the trials of the default job, and about how long they take
  ncclprobe plan --set NCCL_PROTO=LL,Simple > sweep.toml
  ncclprobe run --plan sweep.toml)";

constexpr int k_most = 1'000'000;
constexpr std::uint64_t k_most_elements = std::uint64_t{1} << 42;

// One number is that of all ranks, of several the largest.
Result<void> read_ranks(const std::string& text, RunOptions& options) {
  std::optional<std::vector<int>> counts;
  NCCLPROBE_TRY(parse_numbers(text, 1, k_most, counts));
  options.ranks = *std::max_element(counts->begin(), counts->end());
  if (counts->size() > 1)
    options.workload.rank_counts = std::move(counts);
  return {};
}

// Options of `run` and `plan`: the same, declared once.
void declare(CLI::App& app, RunOptions& options) {
  auto text = [&](const char* names, const char* value, const char* help, auto take) {
    return add_text(app, names, value, help, take);
  };
  auto number = [&](const char* name, auto& into, int least, const char* help) {
    return app.add_option(name, into, help)->type_name("N")->check(CLI::Range(least, k_most));
  };

  app.add_option("--plan", options.plan_file, "Plan file (TOML); what the command line says wins")
      ->type_name("FILE");
  add_backend(app, options.backend);
  text("--ranks", "N,...",
       "Ranks of a run without mpirun (default: all GPUs, or 2 on the CPU); several numbers: "
       "sub-sets "
       "on which steps of training are measured",
       [&](const std::string& value) { return read_ranks(value, options); });
  number("--devices-per-worker", options.seats_per_worker, 1,
         "Ranks that one worker process drives (default 1)");
  app.add_option("--prepare", options.prepare,
                 "Start the next trial's workers during the start-up of the present ones: auto "
                 "(default: on GPUs that allow it), on, off")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "on", "off"}));

  text("--collectives,-c", "NAME,...",
       "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, "
       "send_recv, all_to_all_v, hypercube",
       [&](const std::string& value) {
         return parse_names(value, "collective", options.collectives);
       });
  text("--sizes,-s", "SIZES", "Message sizes: 8:8G:x2, 1M:64M:+1M, or a list 1K,1M",
       [&](const std::string& value) -> Result<void> {
         NCCLPROBE_TRY_ASSIGN(options.sizes, base::parse_sizes(value));
         return {};
       });
  text("--types,-t", "NAME,...",
       "f32 (default), f16, bf16, f64, i8, u8, i32, u32, i64, u64, f8e4m3, f8e5m2",
       [&](const std::string& value) { return parse_names(value, "data type", options.types); });
  text("--ops", "NAME,...",
       "sum (default), prod, max, min, avg, premul_sum (doubled before it is added)",
       [&](const std::string& value) { return parse_names(value, "reduction", options.ops); });
  text(
      "--placement", "NAME,...",
      "out_of_place (default), in_place; of steps, where sub-sets of ranks are: nearest (default), "
      "spread",
      [&](const std::string& value) {
        const WorkloadOption& of_ranks = workload_option("placement");
        if (model::parse_enum<topology::RankChoice>(value, "placement"))
          return of_ranks.read(options.workload, value);
        return parse_names(value, "placement", options.placements);
      });
  text("--counts", "N,...",
       "Elements as NCCL's calls count them, never rounded; in place of --sizes, or besides them",
       [&](const std::string& value) {
         return parse_numbers<std::uint64_t>(value, 0, k_most_elements, options.counts);
       });
  text("--roots,--root", "RANK,...", "Roots of broadcast, reduce, gather, scatter (default 0)",
       [&](const std::string& value) { return parse_numbers(value, 0, k_most, options.roots); });
  text("--offset", "N,...", "Start buffers N elements off their alignment (default 0)",
       [&](const std::string& value) {
         return parse_numbers<std::uint64_t>(value, 0, k_most, options.offsets);
       });
  text("--split", "N,...",
       "Split the ranks into N communicators of neighbours that work at once (default 1)",
       [&](const std::string& value) { return parse_numbers(value, 1, k_most, options.splits); });
  text("--streams", "N,...",
       "N communicators on N streams at once; sizes and bandwidths are those of one (default 1)",
       [&](const std::string& value) { return parse_numbers(value, 1, k_most, options.streams); });
  app.add_flag("--graph", options.graph,
               "Capture the collective, or the step, as a CUDA graph and replay that");
  app.add_flag("--register", options.registered, "Register the buffers with NCCL");
  declare_workload_options(app, options.workload);

  CLI::Option* sweep =
      add_texts(app, "--set", "NAME=V,V",
                "Sweep a variable; several --set make a grid; [a,b] is one value with a comma",
                [&](const std::string& value) -> Result<void> {
                  NCCLPROBE_TRY_ASSIGN(auto axis, workload::parse_axis(value));
                  options.axes.push_back(std::move(axis));
                  return {};
                });
  add_texts(app, "--rank-set", "RANKS:NAME=V",
            "Set a variable on some ranks of every trial, such as 0-3:NCCL_HOSTID=a",
            [&](const std::string& value) { return add_rank_setting(value, options.per_rank); });
  add_library(app, options.libraries);
  CLI::Option* compare =
      add_texts(app, "--compare-library", "NAME=PATH,...",
                "Sweep the file of a library, as --set does a variable; the default loads what "
                "--library says",
                [&](const std::string& value) {
                  return add_compared_library(value, options.compared_libraries);
                });
  app.add_option("--override", options.overrides,
                 "Sweep this variable although the environment sets it")
      ->type_name("NAME");
  app.add_flag("--no-sweep", options.no_sweep, "Measure the default settings only")
      ->excludes(sweep)
      ->excludes(compare);

  text("--proof", "auto|on|off",
       "Show what each setting did, from an extra untimed trial of each (default: on GPUs)",
       [&](const std::string& value) -> Result<void> {
         NCCLPROBE_TRY_ASSIGN(options.proof,
                              model::parse_enum<workload::Proof>(value, "choice for --proof"));
         return {};
       });
  text("--trace", "kernels|api|full",
       "Trace one more trial of each setting in every round: what the devices run; also the calls "
       "that ask for it; also NCCL's channels, proxy and network steps, at a price (default: off)",
       [&](const std::string& value) -> Result<void> {
         NCCLPROBE_TRY_ASSIGN(options.trace,
                              model::parse_enum<model::TraceLevel>(value, "choice for --trace"));
         return {};
       });
  number("--repeat", options.repeats, 1,
         "Fresh-process trials per setting, twice as many of the default (default 5; fewer give no "
         "verdicts)");
  number("--warmups,-w", options.warmups, 0, "Untimed runs before timing (default 5)");
  number("--iterations,-n", options.iterations, 1, "Back-to-back launches per batch (default 20)");
  number("--batches", options.batches, 1, "Timed batches per cell (default 5)");
  text("--mode", "NAME",
       "batch (default): launches back to back; latency: one at a time, each timed on the device; "
       "steps: what --workload is measured in",
       [&](const std::string& value) -> Result<void> {
         NCCLPROBE_TRY_ASSIGN(options.mode,
                              model::parse_enum<model::TimingMode>(value, "timing mode"));
         return {};
       });
  text("--interval", "SHARE",
       "Go on after --batches until the 95% interval of the median is within +-SHARE (1%) of it",
       [&](const std::string& value) -> Result<void> {
         NCCLPROBE_TRY_ASSIGN(options.target_interval, parse_share(value));
         return {};
       });
  number("--max-batches", options.max_batches, 1, "The end of --interval (default 100)");
  add_duration(app, "--budget", options.budget_ns,
               "Time box per cell: cuts iterations, then batches");
  add_cell_timeouts(app, options.cell_deadline_ns, options.startup_deadline_ns);
  add_seed(app, options.seed, "Order of trials and data patterns (default: random, recorded)");
  add_run_file(app, options.output);
  add_quiet(app, options.verbosity, "No progress");
  add_verbose(app, options.verbosity);
}

// Options of `run` alone.
void declare_resume(CLI::App& run, RunOptions& options) {
  CLI::Option* resume = run.add_option("--resume", options.resume_file,
                                       "Go on with this run; the file says everything else")
                            ->type_name("RUN.h5");
  run.add_flag("--retry-failed", options.retry_failed,
               "With --resume: run trials again that failed, timed out or crashed")
      ->needs(resume);
  run.add_flag("--force", options.force,
               "With --resume: go on under other conditions; the file and its report say so")
      ->needs(resume);
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
  constexpr std::array k_company{"--resume",  "--retry-failed", "--force", "--quiet",
                                 "--verbose", "--output",       "--help"};
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
