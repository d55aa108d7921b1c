// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/run_option_forms.h"

#include "launch/cpu_policy.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using base::Result;
using R = RunOptions;

constexpr int k_most = 1'000'000;
constexpr std::uint64_t k_most_elements = std::uint64_t{1} << 42;

template <typename T>
Words<std::vector<T>> numbers(T least, T most = k_most) {
  return list_of(number_words<T>(least, most));
}

template <typename T>
Words<std::vector<T>> names(const char* what) {
  return list_of(name_words<T>(what));
}

// One number is that of all ranks, of several the largest.
Result<void> read_ranks(R& options, const std::string& text) {
  NCCLPROBE_TRY_ASSIGN(auto counts, numbers<int>(1).read(text));
  options.ranks = *std::max_element(counts.begin(), counts.end());
  if (counts.size() > 1)
    options.workload.rank_counts = std::move(counts);
  return {};
}

std::string write_ranks(const R& options) {
  return options.ranks ? word(*options.ranks) : "";
}

// Of buffers, or of steps.
Result<void> read_placement(R& options, const std::string& text) {
  const auto of_ranks = model::parse_enum<topology::RankChoice>(text, "placement");
  if (of_ranks)
    return workload_option("placement").read(options.workload, text);
  auto of_buffers = names<model::Placement>("placement").read(text);
  if (!of_buffers)
    return base::fail(base::Error{base::Errc::invalid_argument,
                                  fmt::format("'{}' is no placement", text),
                                  fmt::format("of buffers, {}; of ranks, in steps of training, {}",
                                              of_buffers.error().hint, of_ranks.error().hint)});
  options.placements = std::move(*of_buffers);
  return {};
}

std::string write_placement(const R& options) {
  return options.placements ? names<model::Placement>("placement").write(*options.placements) : "";
}

// "numa,[0-3,8]": brackets keep a list together, as in --set.
Words<std::vector<std::string>> cpu_affinity_words() {
  return {[](const std::string& text) -> Result<std::vector<std::string>> {
            NCCLPROBE_TRY_ASSIGN(auto axis, workload::parse_axis("cpus=" + text));
            for (const std::string& value : axis.values)
              NCCLPROBE_TRY(launch::check_cpu_policy(value));
            return axis.values;
          },
          [](const std::vector<std::string>& values) {
            std::string list;
            for (const std::string& value : values) {
              const bool several = value.find(',') != std::string::npos;
              list += (list.empty() ? "" : ",") + (several ? "[" + value + "]" : value);
            }
            return list;
          }};
}

std::vector<OptionForm<R>> machine_forms() {
  return {
      form("backend", "NAME", &R::backend, choice_words({"auto", "nvidia", "host", "synthetic"}),
           "auto (default), nvidia, host (Gloo on the CPU), synthetic"),
      {"ranks", "N,...",
       "Ranks of a run without mpirun (default: all GPUs, or 2 on the CPU); several numbers: "
       "sub-sets on which steps of training are measured",
       read_ranks, write_ranks},
      form("devices-per-worker", "N", &R::seats_per_worker, number_words(1, k_most),
           "Ranks that one worker process drives (default 1)"),
      form("prepare", "WHEN", &R::prepare, choice_words({"auto", "on", "off"}),
           "Start the next trial's workers during the start-up of the present ones: auto (default: "
           "on GPUs that allow it), on, off"),
      form("output", "FILE", &R::output, text_words(), nullptr), // add_run_file()
  };
}

std::vector<OptionForm<R>> collective_forms() {
  return {
      form(
          "collectives", "NAME,...", &R::collectives, names<model::Collective>("collective"),
          "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter, "
          "send_recv, all_to_all_v, hypercube",
          "-c"),
      form("sizes", "SIZES", &R::sizes, size_words(),
           "Message sizes: 8:8G:x2, 1M:64M:+1M, or a list 1K,1M; 1K = 1KiB = 1024 bytes", "-s"),
      form("types", "NAME,...", &R::types, float_names<model::DataType>("data type"),
           "f32 (default), f16, bf16, f64, i8, u8, i32, u32, i64, u64, f8e4m3, f8e5m2", "-t"),
      form("ops", "NAME,...", &R::ops, names<model::ReduceOp>("reduction"),
           "sum (default), prod, max, min, avg, premul_sum (doubled before it is added)"),
      {"placement", "NAME,...",
       "out_of_place (default), in_place; of steps, where sub-sets of ranks are: nearest "
       "(default), "
       "spread",
       read_placement, write_placement},
      form("counts", "N,...", &R::counts, numbers<std::uint64_t>(0, k_most_elements),
           "Elements as NCCL's calls count them, never rounded; in place of --sizes, or besides "
           "them"),
      form("roots", "RANK,...", &R::roots, numbers<int>(0),
           "Roots of broadcast, reduce, gather, scatter (default 0)", "--root"),
      form("offset", "N,...", &R::offsets, numbers<std::uint64_t>(0),
           "Start buffers N elements off their alignment (default 0)"),
      form("split", "N,...", &R::splits, numbers<int>(1),
           "Split the ranks into N communicators of neighbours that work at once (default 1)"),
      form("streams", "N,...", &R::streams, numbers<int>(1),
           "N communicators on N streams at once; sizes and bandwidths are those of one (default "
           "1)"),
      flag("graph", &R::graph,
           "Capture the collective, or the step, as a CUDA graph and replay "
           "that"),
      form("launch", "HOW,...", &R::launches, names<workload::Launch>("way to launch"),
           "direct (default), graph, or both: the report compares what each costs the host"),
      flag("launch-costs", &R::launch_costs,
           "Also measure an empty kernel and a 512 B all_reduce, one at a time and back to back: "
           "what a launch costs, and what the priority of the stream changes"),
      flag("register", &R::registered, "Register the buffers with NCCL"),
  };
}

std::vector<OptionForm<R>> setting_forms() {
  return {
      flag("no-sweep", &R::no_sweep, nullptr), // excludes others
      form("cpu-affinity", "CPUS,...", &R::cpu_affinities, cpu_affinity_words(),
           "Sweep the CPUs that workers get: numa (near the GPU), none (all), launcher (as mpirun "
           "binds), core (one each), or lists: 0-3,[4-7,12],0-3/4-7 (ranks in turn)"),
      form("proof", "auto|on|off", &R::proof, name_words<workload::Proof>("choice for --proof"),
           "Show what each setting did, from an extra untimed trial of each (default: on GPUs)"),
      form("trace", "kernels|api|full", &R::trace,
           name_words<model::TraceLevel>("choice for --trace"),
           "Trace one more trial of each setting in every round: what the devices run; also the "
           "calls that ask for it; also NCCL's channels, proxy and network steps, at a price "
           "(default: off)"),
      form("repeat", "N", &R::repeats, number_words(1, k_most),
           "Fresh-process trials per setting, twice as many of the default (default 5; fewer give "
           "no verdicts)"),
      form("seed", "N", &R::seed, number_words<std::uint64_t>(0, INT64_MAX), // signed in plan files
           "Order of trials and data patterns (default: random, recorded)"),
  };
}

std::vector<OptionForm<R>> timing_forms() {
  return {
      form("warmups", "N", &R::warmups, number_words(0, k_most),
           "Untimed runs before timing (default 5)", "-w"),
      form("iterations", "N", &R::iterations, number_words(1, k_most),
           "Back-to-back launches per batch (default 20)", "-n"),
      form("batches", "N", &R::batches, number_words(1, k_most),
           "Timed batches per cell (default 5)"),
      form("mode", "NAME", &R::mode, name_words<model::TimingMode>("timing mode"),
           "batch (default): launches back to back; latency: one at a time, each timed on the "
           "device; steps: what --workload is measured in"),
      form("interval", "SHARE", &R::target_interval, share_words(),
           "Continue after --batches until the 95% interval of the median is within +-SHARE (1%)"),
      form("max-batches", "N", &R::max_batches, number_words(1, k_most),
           "Stop after N batches even if --interval is not met (default 100)"),
      form("budget", "TIME", &R::budget_ns, duration_words(),
           "Time box per cell: cuts iterations, then batches"),
      form("cell-timeout", "TIME", &R::cell_deadline_ns, duration_words(),
           "A cell that takes longer is a hang (default 30s)"),
      form("startup-timeout", "TIME", &R::startup_deadline_ns, duration_words(),
           "From spawn to the first cell (default 180s)"),
  };
}

} // namespace

const std::vector<RunFormGroup>& run_option_forms() {
  static const std::vector<RunFormGroup> all{{"Where", machine_forms()},
                                             {"Collectives", collective_forms()},
                                             {"What is compared", setting_forms()},
                                             {"Timing", timing_forms()}};
  return all;
}

} // namespace ncclprobe::cli
