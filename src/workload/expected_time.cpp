// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/expected_time.h"

#include "base/units.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

namespace ncclprobe::workload {
namespace {

using namespace model;

// Rates of a rank, rounded, from runs of the default job and of ddp on 2 and 4 H200 and on two
// cores of a virtual machine. On the CPU all ranks share the cores and the memory.
struct Speed {
  // Of a trial, without the part that overlaps with the trial before.
  double start_ns, start_of_rank_ns;
  double cell_ns;                  // of a cell, before and after its launches
  double launch_ns;                // the shortest
  double communication;            // bytes per ns
  double products, short_products; // floating point operations per ns: of f32, of smaller types
  double memory;                   // bytes per ns
};

Speed speed_of(const TrialSpec& trial) {
  if (trial.backend == "nvidia")
    return {0.3e9, 0.25e9, 1e7, 2e4, 250, 4e4, 4e5, 1e3};
  const double ranks = trial.ranks;
  const double share = std::min(1.0, std::thread::hardware_concurrency() / ranks);
  return {0.1e9, 0.03e9, 0, 1e5 * ranks, 1 / ranks, 5 * share, 5 * share, 5 * share};
}

// One launch of the timed region.
double launch_of(const Cell& cell, const Speed& speed) {
  double ns = speed.launch_ns + static_cast<double>(cell.label.bytes) / speed.communication;
  for (const Operation& operation : cell.schedule.operations) {
    if (const auto* gemm = std::get_if<GemmOp>(&operation.what))
      ns += 2.0 * static_cast<double>(gemm->m * gemm->n * gemm->k * gemm->batch) /
            (gemm->type == DataType::f32 && gemm->math == GemmMath::full ? speed.products
                                                                         : speed.short_products);
    else if (const auto* spin = std::get_if<SpinOp>(&operation.what))
      ns += static_cast<double>(spin->duration_ns);
    else if (const auto* optimizer = std::get_if<OptimizerOp>(&operation.what))
      ns += 20.0 * static_cast<double>(optimizer->count) /
            speed.memory; // reads four arrays and writes one
  }
  return ns;
}

// With a target interval there are more batches than requested; how many is unknown.
double batches_of(const Timing& timing) {
  return timing.target_interval > 0 && timing.max_batches > timing.batches
             ? std::sqrt(static_cast<double>(timing.batches) * timing.max_batches)
             : timing.batches;
}

} // namespace

double expected_start_ns(const TrialSpec& trial) {
  if (trial.backend == "synthetic")
    return 0.05e9 + 0.01e9 * trial.ranks;
  const Speed speed = speed_of(trial);
  return speed.start_ns + speed.start_of_rank_ns * trial.ranks;
}

double expected_cell_ns(const TrialSpec& trial, const Cell& cell, std::optional<double> launch_ns) {
  if (trial.backend == "synthetic") // its times are simulated
    return 0;
  const Speed speed = speed_of(trial);
  const Timing& timing = cell.timing;
  const double launch = launch_ns.value_or(launch_of(cell, speed));
  // Data is written and compared, and three launches come before the part that the budget limits. A
  // quarter of the budget is for warm-ups; then batches run until it is spent, at least one.
  const double data = 2.0 * static_cast<double>(peak_bytes({cell})) / speed.memory;
  const double rest = launch * (timing.warmups + (timing.iterations + 1) * batches_of(timing));
  const double budget = timing.budget_ns > 0 ? 1.25 * static_cast<double>(timing.budget_ns) : rest;
  const double whole = speed.cell_ns + data + 3 * launch + std::min(rest, budget + launch);
  return cell.deadline_ns > 0 ? std::min(whole, static_cast<double>(cell.deadline_ns)) : whole;
}

double expected_trial_ns(const TrialSpec& trial) {
  return std::accumulate(
      trial.cells.begin(), trial.cells.end(), expected_start_ns(trial),
      [&](double sum, const Cell& cell) { return sum + expected_cell_ns(trial, cell); });
}

double expected_ns(const Plan& plan) {
  return std::accumulate(
      plan.trials.begin(), plan.trials.end(), 0.0,
      [](double sum, const TrialSpec& one) { return sum + expected_trial_ns(one); });
}

std::string expected_text(double nanoseconds) {
  const double seconds = std::max(nanoseconds / 1e9, 0.1);
  return seconds < 59.5 ? fmt::format("{:.{}f} s", seconds, seconds < 9.95 ? 1 : 0)
                        : base::format_duration(nanoseconds);
}

} // namespace ncclprobe::workload
