// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"
#include "analysis/results/run_summary.h"
#include "analysis/steps/by_kernels.h"

#include <optional>
#include <string>

namespace ncclprobe::analysis {

// `brief`: only the answer: what to set, and how certain that is.
enum class Extent { whole, brief };

// Changes if readers of the older version would be misled; not for added fields.
inline constexpr int k_json_report_version = 1;

// The whole report of a run, which must stay. `price_per_gpu` is the user's (prices.h); reports of
// P2P matrices ignore it. `traced`: data from the run's traces about its steps.
//
// For machines it is one object:
//   schema "ncclprobe.report", version, synthetic
//   run       identity, command, machine, software, settings of the environment, progress
//   memory    one for each setting and rank: bytes of its device by use
//   replay    how well the run replays a captured step: its times and those of its operations
//   verdicts  the answer, the method with its numbers, each setting's count of verdicts, what to
//             set for which sizes, the A/A comparison of the default's two arms
//   results   one for each setting and kind of cell: figures pooled over processes, the verdict
//             against the default (null for the default and without a comparison), its processes
//             with every batch or, in latency mode, launch; launch_us is the host's part of an
//             operation
//   saturation  one for each collective and setting: the size from which it reaches its bandwidth
//   steps     one for each setting and training step: how its time was spent, also by rank, and
//             its buckets; with them overlap (whole steps compared with their parts alone),
//             break_even (what bounds the step), scaling (over numbers of ranks, with the loss
//             account) and input_copies
//   power     one for each cell and setting with known power
//   price     at the user's price of a GPU: of a GB/s, of an effective GPU. Only if one was given
//   link_traffic  one for each long cell with the default settings: the highest GB/s that any GPU
//             counted
//   libraries, cpus   the libraries that each setting loaded, and the CPUs it ran on
//   proof     one for each setting, if the run had companion trials: the effect of its variables,
//             the log lines as evidence, and what each cell used on each rank
//   nccl_predictions, tracing_cost   one for each cell that has some
//   problems  one for each trial that failed in some way: outcome, cells, workers with their last
//             output
//   findings  warnings and conclusions: id, severity, values and sentence
// The unit of a number is in its key; absent values are null. Empty parts are left out.
Report run_report(const RunSummary& run, std::optional<double> price_per_gpu = std::nullopt,
                  const steps::TracedCells& traced = {}, Extent extent = Extent::whole);

} // namespace ncclprobe::analysis
