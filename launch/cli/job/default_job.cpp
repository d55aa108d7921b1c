// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/default_job.h"

#include "analysis/verdict/verdict.h"
#include "base/units.h"
#include "workload/default_sweep.h"
#include "workload/step_cells.h"

#include <random>

namespace ncclprobe::cli {
namespace {

using namespace model;

// Includes writing the memory and choosing matrix products before the first step.
constexpr std::int64_t k_step_deadline_ns = 120'000'000'000;

template <typename T, typename Value>
void fill(std::optional<T>& option, Value&& value) {
  if (!option)
    option = std::forward<Value>(value);
}

void fill_collectives(RunOptions& options, bool on_cpu) {
  fill(options.collectives,
       std::vector{Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter});
  if (options.counts && !options.counts->empty())
    fill(options.sizes, std::vector<std::uint64_t>{});
  fill(options.sizes, base::parse_sizes(on_cpu ? k_default_sizes_on_cpu : k_default_sizes).value());
  fill(options.types, std::vector{DataType::f32});
  fill(options.ops, std::vector{ReduceOp::sum});
  fill(options.placements, std::vector{Placement::out_of_place});
  fill(options.roots, std::vector{0});
  fill(options.splits, std::vector{1});
  fill(options.streams, std::vector{1});
  fill(options.offsets, std::vector<std::uint64_t>{0});
}

void fill_timing(RunOptions& options, const Timing& timing) {
  fill(options.warmups, timing.warmups);
  fill(options.iterations, timing.iterations);
  fill(options.batches, timing.batches);
  fill(options.budget_ns, timing.budget_ns);
  fill(options.mode, timing.mode);
  fill(options.cell_deadline_ns, k_step_deadline_ns);
}

} // namespace

void fill_defaults(RunOptions& options, const std::string& backend,
                   const std::vector<HostInventory>& hosts, int ranks) {
  bool on_cpu = backend == "host";
  fill(options.backend, backend);
  bool of_steps = options.workload.pattern.has_value();
  of_steps ? fill_timing(options, workload::step_timing(backend))
           : fill_collectives(options, on_cpu);
  fill(options.warmups, 5);
  fill(options.iterations, 20);
  fill(options.batches, 5);
  fill(options.mode, TimingMode::batch);
  fill(options.max_batches, 100);
  // On the CPU a cell may take long; on GPUs the same iterations take milliseconds.
  if (on_cpu)
    fill(options.budget_ns, std::int64_t{250'000'000});
  fill(options.cell_deadline_ns, std::int64_t{30'000'000'000});
  fill(options.startup_deadline_ns, std::int64_t{180'000'000'000});
  fill(options.repeats, static_cast<int>(analysis::k_least_processes));
  fill(options.devices_per_worker, 1);
  fill(options.seed, std::uint64_t{std::random_device{}()});
  if (options.no_sweep) {
    options.axes.clear();
    options.settings.clear();
    options.compared_libraries.clear();
    options.cpu_affinities.reset();
  } else if (options.axes.empty() && options.settings.empty() &&
             options.compared_libraries.empty() && options.in_process.empty() &&
             !options.cpu_affinities && !of_steps) {
    options.settings = workload::default_sweep(backend, hosts, ranks);
  }
}

} // namespace ncclprobe::cli
