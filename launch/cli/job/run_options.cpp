// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/run_options.h"

#include "base/exit_code.h"
#include "launch/cli/common/option_values.h"
#include "launch/cli/job/compared_libraries.h"
#include "launch/cli/job/default_job.h"
#include "launch/supervisor/cpu_policy.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using Texts = std::vector<std::string>;

constexpr std::uint64_t k_most_elements = std::uint64_t{1} << 42;

template <typename T>
Words<std::vector<T>> names(const char* what) {
  return list_of(name_words<T>(what));
}

// The number of ranks is the one number given, or the largest of several.
Option rank_counts_option(RunOptions& into) {
  return make_option(
      "ranks", "N,...",
      "Number of ranks if started without mpirun; a list: measure training steps at each of these "
      "rank counts",
      {.initial = "all GPUs, or 2 on the CPU", .example = "8"},
      [&into](const std::string& text) -> Result<void> {
        NCCLPROBE_TRY_ASSIGN(auto counts, numbers<int>(1).read(text));
        into.ranks = *std::ranges::max_element(counts);
        if (counts.size() > 1)
          into.workload.rank_counts = std::move(counts);
        return {};
      },
      [&into]() -> Texts {
        if (into.workload.rank_counts)
          return {numbers<int>(1).write(*into.workload.rank_counts)};
        return into.ranks ? Texts{word(*into.ranks)} : Texts{};
      });
}

// Placement of buffers, or of the ranks of steps.
Option placement_option(RunOptions& into) {
  const auto of_ranks = name_words<topology::RankChoice>("placement");
  const auto of_buffers = names<model::Placement>("placement");
  Option made = make_option(
      "placement", "NAME,...",
      "Buffers of collectives: out_of_place, in_place; for training steps on a subset of the "
      "ranks, which ranks to use: nearest, spread",
      {.initial = "out_of_place; nearest", .example = "in_place"},
      [=, &into](const std::string& text) -> Result<void> {
        if (auto choice = of_ranks.read(text)) {
          into.workload.placement = *choice;
          return {};
        }
        auto placements = of_buffers.read(text);
        if (!placements)
          return fail(Error{Errc::invalid_argument, fmt::format("'{}' is not a placement", text),
                            fmt::format("of buffers: {}; of ranks, for training steps: "
                                        "{}",
                                        fmt::join(of_buffers.choices, ", "),
                                        fmt::join(of_ranks.choices, ", "))});
        into.placements = std::move(*placements);
        return {};
      },
      [=, &into]() -> Texts {
        if (into.workload.placement)
          return {of_ranks.write(*into.workload.placement)};
        return into.placements ? Texts{of_buffers.write(*into.placements)} : Texts{};
      });
  made.choices = of_buffers.choices;
  made.choices.insert(made.choices.end(), of_ranks.choices.begin(), of_ranks.choices.end());
  return made;
}

// "numa,[0-3,8]": brackets keep a list together, as in --set.
Words<Texts> cpu_affinity_words() {
  return {[](const std::string& text) -> Result<Texts> {
            NCCLPROBE_TRY_ASSIGN(auto axis, workload::parse_axis("cpus=" + text));
            for (const std::string& value : axis.values)
              NCCLPROBE_TRY(launch::check_cpu_policy(value));
            return axis.values;
          },
          bracketed_list, "numa,core"};
}

std::string axis_text(const workload::Axis& axis) {
  return axis.name + "=" + bracketed_list(axis.values);
}

// "NCCL_ALGO=Ring,NCCL_PROTO=LL": variables that are set together.
Words<std::vector<model::Setting>> combination_words() {
  return {[](const std::string& text) -> Result<std::vector<model::Setting>> {
            std::vector<model::Setting> combination;
            NCCLPROBE_TRY_ASSIGN(const auto parts, workload::parse_axis("x=" + text));
            for (const std::string& part : parts.values) {
              NCCLPROBE_TRY_ASSIGN(auto one, parse_setting(part));
              combination.push_back(std::move(one));
            }
            return combination;
          },
          [](const std::vector<model::Setting>& combination) {
            Texts parts;
            for (const model::Setting& one : combination)
              parts.push_back(setting_text(one));
            return bracketed_list(parts);
          },
          "NCCL_ALGO=Ring,NCCL_PROTO=LL"};
}

Options setting_options(RunOptions& into) {
  return {
      repeated(
          "set", "NAME=V,V", into.axes,
          Words<workload::Axis>{[](const std::string& text) { return workload::parse_axis(text); },
                                axis_text, "NCCL_ALGO=[Ring,Tree],Ring"},
          "Sweep a variable; several --set make a grid; [a,b] is one value with a comma"),
      repeated("setting", "NAME=V,NAME=V", into.settings, combination_words(),
               "Measure this combination of variables, in addition to those of --set"),
      repeated(
          "in-process", "NAME=V,V", into.in_process,
          Words<workload::Axis>{[](const std::string& text) { return workload::parse_axis(text); },
                                axis_text, "algorithm=Ring,Tree"},
          "Compare these settings within each process, without a restart; several make a "
          "grid. GPUs: algorithm, protocol, channels; CPU: algorithm, chunk_bytes"),
      repeated("compare-library", "NAME=PATH,...", into.compared_libraries,
               Words<workload::Axis>{parse_compared_library, axis_text,
                                     "nccl=/opt/nccl-2.28/libnccl.so.2"},
               "Compare these library files with the default one (see --library); worker=PATH "
               "compares builds of ncclprobe-worker"),
      rank_set_option(into.per_rank),
      library_option(into.libraries),
      repeated("override", "NAME", into.overrides, text_words("NCCL_ALGO"),
               "Use the values given for this variable, even if the environment sets it or NCCL "
               "would probably reject them"),
      flag("no-sweep", into.no_sweep, "Measure the default settings only",
           {.excludes = {"set", "setting", "compare-library", "cpu-affinity"}}),
      option("cpu-affinity", "CPUS,...", into.cpu_affinities, cpu_affinity_words(),
             "Compare CPU bindings of the workers: numa (CPUs near the GPU), none (all CPUs), "
             "launcher (as bound by mpirun), core (one core each), or CPU lists: 0-3,[4-7,12], and "
             "0-3/4-7, whose parts the ranks take in turn"),
      option("proof", "WHEN", into.proof, name_words<workload::Proof>("choice for --proof"),
             "Run one extra, untimed trial of each setting to show what the setting did: {}",
             {.initial = "auto: only on GPUs"}),
      option("trace", "LEVEL", into.trace, name_words<model::TraceLevel>("choice for --trace"),
             "Add one traced trial of each setting to every round. kernels: kernels, copies and "
             "NCCL's operations; api: also CUDA calls and events; full: also NCCL's channels, "
             "proxy and network steps, at the highest cost",
             {.initial = "off", .example = "kernels"}),
      option("repeat", "N", into.repeats, number_words(1, k_most),
             "Trials of each setting, each in fresh processes; the default settings get twice as "
             "many. With fewer than 5 there are no verdicts"),
      seed_option(into.seed),
      note_option(into.note)};
}

Options machine_options(RunOptions& into) {
  return {backend_option(into.backend), rank_counts_option(into),
          option("devices-per-worker", "N", into.devices_per_worker, number_words(1, k_most),
                 "Ranks that one worker process drives"),
          option("prepare", "WHEN", into.prepare, choice_words({"auto", "on", "off"}),
                 "Start the next trial's workers together with those of the current trial: {}",
                 {.initial = "auto: on GPUs that allow it"})};
}

Options collective_options(RunOptions& into) {
  return {
      option("collectives", "NAME,...", into.collectives, names<model::Collective>("collective"),
             "{}", {.also = "-c"}),
      option(
          "sizes", "SIZES", into.sizes, size_words(),
          "Message sizes: 8:8G:x2, 1M:64M:+1M, or a list 1K,1M; 1K is 1024 bytes",
          {.also = "-s",
           .initial = fmt::format("{}, on the CPU {}", k_default_sizes, k_default_sizes_on_cpu)}),
      option("types", "NAME,...", into.types, float_names<model::DataType>("data type"), "{}",
             {.also = "-t"}),
      option("ops", "NAME,...", into.ops, names<model::ReduceOp>("reduction"),
             "{}; premul_sum doubles the values before adding them"),
      placement_option(into),
      option("counts", "N,...", into.counts, numbers<std::uint64_t>(0, k_most_elements),
             "Element counts, passed to NCCL without rounding; instead of --sizes or in addition "
             "to it"),
      option("roots", "RANK,...", into.roots, numbers<int>(0),
             "Roots of broadcast, reduce, gather and scatter", {.also = "--root"}),
      option("offset", "N,...", into.offsets, numbers<std::uint64_t>(0),
             "Start buffers N elements off their alignment"),
      option("split", "N,...", into.splits, numbers<int>(1),
             "Split the ranks into N communicators of neighbouring ranks, which run at the same "
             "time"),
      option("streams", "N,...", into.streams, numbers<int>(1),
             "Use N communicators on N streams at the same time; sizes and bandwidths are per "
             "communicator"),
      flag("graph", into.graph, "Capture the collective or the step as a CUDA graph and replay it",
           {.excludes = {"launch"}}),
      option("launch", "HOW,...", into.launches, names<model::Launch>("way to launch"),
             "{}; with both, the report compares what each costs the host", {.initial = "direct"}),
      flag("launch-costs", into.launch_costs,
           "Also measure an empty kernel and a 512 B all_reduce, one at a time and back to back, "
           "to show what a launch costs and how stream priority changes it"),
      flag("register", into.registered, "Register the buffers with NCCL")};
}

Options timing_options(RunOptions& into) {
  return joined(
      {{option("warmups", "N", into.warmups, number_words(0, k_most), "Untimed runs before timing",
               {.also = "-w"}),
        option("iterations", "N", into.iterations, number_words(1, k_most),
               "Back-to-back launches in a batch", {.also = "-n"}),
        option("batches", "N", into.batches, number_words(1, k_most), "Timed batches of each cell"),
        option("mode", "NAME", into.mode, name_words<model::TimingMode>("timing mode"),
               "batch: launches back to back; latency: one at a time, each timed on the device; "
               "steps: training steps (the only mode of --workload)"),
        option("interval", "SHARE", into.target_interval, share_words(),
               "After --batches, measure more batches until the 95% confidence interval of the "
               "median is within +-SHARE"),
        option("max-batches", "N", into.max_batches, number_words(1, k_most),
               "Stop after N batches even if --interval is not met"),
        option("budget", "TIME", into.budget_ns, duration_words(),
               "Time limit of a cell: iterations are reduced first, then batches",
               {.initial = "none; 250ms on the CPU"})},
       timeout_options(into)});
}

Options measurement_options(RunOptions& into) {
  return joined({in_group("Where", machine_options(into)),
                 in_group("Collectives", collective_options(into)),
                 in_group("What is compared", setting_options(into)),
                 in_group("Timing", timing_options(into)), workload_options(into.workload)});
}

// Shows the default job's values as the defaults of options that are otherwise unset.
Options documented_measurement_options(RunOptions& into) {
  Options options = measurement_options(into);
  RunOptions job;
  fill_defaults(job, "nvidia", {}, 8);
  job.workload = default_step();
  add_defaults(options, measurement_options(job));
  return options;
}

Option plan_option(std::string& into) {
  return option("plan", "FILE", into, text_words("sweep.toml"),
                "Plan file (TOML); options on the command line override it");
}

// Two plans cannot both be meant.
Result<void> check_resumed_alone(const Options& said, const RunOptions& options) {
  if (options.resume_file.empty())
    return {};
  // Options allowed with --resume: its own, and those that name again what the run loads
  // (named_again.h).
  constexpr std::array k_company{"resume",   "retry-failed",    "force", "quiet",   "verbose",
                                 "output",   "format",          "set",   "setting", "library",
                                 "rank-set", "compare-library", "model"};
  for (const Option& option : said)
    if (option.said && std::ranges::find(k_company, option.name) == k_company.end())
      return fail(Errc::invalid_argument,
                  "--resume: {} cannot be changed: the run continues as it began", option.label());
  if (options.output && *options.output != options.resume_file)
    return fail(Errc::invalid_argument,
                "--resume: the run continues in {} itself, not in {}: leave out --output, or "
                "copy the file and resume the copy",
                options.resume_file, *options.output);
  return {};
}

constexpr const char* k_run_about =
    "A variable that is already set in the environment is pinned: every trial uses that value, and "
    "it is not swept unless --override names it.\n\n"
    "--resume reads all other options from the run file. It runs the missing trials: trials that "
    "never started, and trials that were stopped before all their cells ended. A stopped trial "
    "runs again as a whole, and its partial data is replaced. Completed trials do not run again; "
    "with --retry-failed, trials that failed, timed out or crashed do. The report and the exit "
    "code cover the whole run. If the machine, a program, a library or the environment differs, "
    "ncclprobe stops with exit code 6 and lists the differences. Name libraries, worker programs, "
    "model files and variables that could load something again, with --library, --compare-library, "
    "--model, --set, --setting or --rank-set. If one is missing, ncclprobe stops with exit code 2 "
    "and prints the full command.";

} // namespace

Option rank_set_option(std::map<int, std::vector<model::Setting>>& into) {
  return make_option(
      "rank-set", "RANKS:NAME=V", "Set a variable on some ranks in every trial",
      {.example = "0-3:NCCL_HOSTID=a", .repeats = true},
      [&into](const std::string& text) { return add_rank_setting(text, into); },
      [&into] {
        Texts texts;
        for (const auto& [rank, settings] : into)
          for (const model::Setting& one : settings)
            texts.push_back(fmt::format("{}:{}", rank, setting_text(one)));
        return texts;
      });
}

Options options_of_given_cells(RunOptions& into) {
  Options options = joined({in_group("Where", machine_options(into)),
                            in_group("What is compared", setting_options(into)),
                            in_group("Timing", timing_options(into))});
  for (Option& one : options)
    if (one.name == "ranks") {
      one = ranks_option(into.ranks, k_most);
      one.group = "Where";
    }
  std::erase_if(options,
                [](const Option& one) { return one.name == "no-sweep" || one.name == "mode"; });
  return options;
}

Options plan_file_options(RunOptions& into) {
  return joined({measurement_options(into), {run_file_option(into.output)}});
}

Usage run_usage(RunOptions& into) {
  return {
      .name = "run",
      .summary = "Measure collectives or training steps, and store and report the results",
      .about = k_run_about,
      .examples =
          {{"ncclprobe run", "all GPUs of this node (or 2 CPU ranks); takes about 2 minutes"},
           {"mpirun -np 8 ncclprobe run", "one rank per GPU; also works on several nodes"},
           {"torchrun --no_python --nproc_per_node 8 ncclprobe run", "the same without MPI"},
           {"ncclprobe run --sizes 8:8G:x2 --collectives all_reduce"},
           {"ncclprobe run --set NCCL_ALGO=[Ring,Tree],Ring --repeat 5"},
           {"ncclprobe run --collectives all_reduce,all_to_all_v --types bf16 --counts 0,1,3,1023"},
           {"ncclprobe run --split 1,2 --streams 2 --graph --register --sizes 1M"},
           {"ncclprobe run --rank-set 0-3:NCCL_HOSTID=a --rank-set 4-7:NCCL_HOSTID=b"},
           {"ncclprobe run --workload ddp --model gpt2-124m --batch 8 --type bf16 --ranks 1,2,4,8"},
           {"ncclprobe run --workload ddp --model linear:8192x16 --bucket 10M,25M,100M"},
           {"ncclprobe run --library nccl=/opt/nccl-2.27/lib/libnccl.so.2 --no-sweep"},
           {"ncclprobe run --compare-library nccl=/opt/nccl-2.28/libnccl.so.2"},
           {"ncclprobe run --set LD_LIBRARY_PATH=/opt/cuda-12.8/lib64,/opt/cuda-13.0/lib64"},
           {"ncclprobe run --backend host --no-sweep --in-process algorithm=ring,bcube"},
           {"ncclprobe run --resume run.h5", "run the missing trials of a stopped run"},
           {"ncclprobe run -b 8 -e 8G -f 2 -g 8", "nccl-tests' options work too"}},
      .exits = measurement_exits(
          "the launch does not fit the machine; with --resume: the machine differs from the run"),
      .options = joined(
          {{plan_option(into.plan_file), run_file_option(into.output),
            option("resume", "RUN.h5", into.resume_file, text_words("run.h5"),
                   "Resume this run; all other options come from its file"),
            flag("retry-failed", into.retry_failed,
                 "Also rerun trials that failed, timed out or crashed", {.needs = {"resume"}}),
            flag("force", into.force,
                 "Replace the run file and its traces if they exist. With --resume, continue even "
                 "if conditions differ; the run file and the report then list the differences")},
           {format_option(into.format)},
           log_options(into.verbosity),
           documented_measurement_options(into)}),
      .check = [&into](const Options& said) { return check_resumed_alone(said, into); }};
}

Usage plan_usage(PlanOptions& into) {
  return {
      .name = "plan",
      .summary = "Print the options as a plan file, or with --dry-run the trials that would run",
      .examples = {{"ncclprobe plan --dry-run", "the default job's trials and their expected time"},
                   {"ncclprobe plan --set NCCL_PROTO=LL,Simple -o sweep.toml"},
                   {"ncclprobe run --plan sweep.toml"},
                   {"ncclprobe plan --dry-run --backend nvidia --gpus 8",
                    "plan for 8 GPUs on a machine without any"}},
      .exits = {{base::k_exit_environment, "the plan does not fit the machine"}},
      .options =
          joined({{plan_option(into.plan_file),
                   flag("dry-run", into.dry_run, "Print the trials and the expected time"),
                   option("gpus", "N", into.gpus, number_words(1, 1024),
                          "Plan for one host with N GPUs instead of this machine"),
                   format_option(into.format, "toml: a plan file, or with --dry-run a table; json",
                                 {"toml", "json"})},
                  text_file_options(into.destination),
                  log_options(into.verbosity),
                  documented_measurement_options(into)})};
}

} // namespace ncclprobe::cli
