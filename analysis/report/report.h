// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"
#include "analysis/results/run_summary.h"
#include "analysis/steps/by_kernels.h"

#include <optional>
#include <string>

namespace ncclprobe::analysis {

// `brief`: the answer alone: what to set, and how sure that is.
enum class Extent { whole, brief };

// Changed when a reader of the older version would be misled; added fields do not change it.
inline constexpr int k_json_report_version = 1;

// The whole report of a run, which must stay. `price_per_gpu` is the user's (prices.h); P2P
// matrices do without. `traced`: what the run's traces tell of its steps.
//
// For machines it is one object:
//   schema "ncclprobe.report", version, synthetic
//   run       identity, command, machine, software, settings of the environment, progress
//   memory    one for each setting and rank: bytes of its device by what took them
//   verdicts  the answer, the method with its numbers, each setting's count of verdicts, what to
//             set for which sizes, the A/A comparison of the default's two arms
//   results   one for each setting and kind of cell: figures pooled over processes, the verdict
//             against the default (null for the default and where there is nothing to compare), the
//             processes they come from, with every batch or, in latency mode, launch; launch_us is
//             the host's part of an operation
//   saturation  one for each collective and setting: from which size on it has its bandwidth
//   steps     one for each setting and step of training: what its time went to, by rank too, and
//             its buckets; with them overlap (steps measured whole and by halves), break_even (what
//             bounds the step), scaling (over numbers of ranks, with the loss account) and
//             input_copies
//   power     one for each cell and setting whose power is known
//   price     at the user's price of a GPU: of a GB/s, of an effective GPU. Only if one was given
//   link_traffic  one for each cell that ran for long with the default settings: GB/s that GPUs
//             counted, the most of any
//   libraries, cpus   what each setting loaded, and ran on
//   proof     one for each setting, if the run had companion trials: what its variables did, on
//             which line of the log that rests, and what each cell used on each rank
//   nccl_predictions, tracing_cost   one for each cell that has some
//   problems  one for each trial that did not go well: outcome, cells, workers with their last
//             output
//   findings  what the report warns of or concludes: id, severity, values and its sentence
// The unit of a number is in its key; what is absent is null. Parts that a run has nothing for are
// left out.
Report run_report(const RunSummary& run, std::optional<double> price_per_gpu = std::nullopt,
                  const steps::TracedCells& traced = {}, Extent extent = Extent::whole);

} // namespace ncclprobe::analysis
