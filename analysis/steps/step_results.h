// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "analysis/step_marks/step_figures.h"
#include "analysis/steps/by_kernels.h"
#include "workload/step_label.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Steps of training over all processes of a run. As everywhere, the unit of observation is a
// process: its steps are not independent of each other (docs/method.md).
namespace ncclprobe::analysis::steps {

struct StepProcess {
  int trial = 0;
  StepFigures figures;
  std::optional<double> sm_clock_mhz; // as StepResult's
};

// One setting, one kind of step.
struct StepResult {
  const SettingResult* pooled = nullptr; // its samples, by the host's clock
  std::string setting;
  bool is_default = false;
  model::CellLabel label;
  workload::StepLabel step;
  DataState data = DataState::checked;
  std::uint64_t throttle_reasons = 0; // conditions.h
  int throttled_processes = 0;
  std::optional<double> sm_clock_mhz; // median of all readings while timed, on ranks that train
  std::optional<std::uint64_t> most_memory_bytes; // used on a device by all, of these readings

  std::vector<StepProcess> processes; // with good marks; may be none
  std::vector<std::string> refusals;  // "trial 3: rank 1 has no marks"; no duplicates

  // Over processes: the median step time, and its mean shares.
  StepTimes times;
  std::optional<Interval> interval_ns; // of the step time; six processes or more have one
  double stragglers_ns = 0;
  std::map<int, StepTimes> ranks;   // by global rank: mean over processes
  std::vector<BucketTimes> buckets; // medians over processes
  // Of the first traced trial; nothing if no trace is known.
  std::optional<ByKernels> by_kernels;
  const StepProcess* process_of(int trial) const;
  std::size_t unmatched_messages() const { // a matter of the schedule: the same in all processes
    return processes.empty() ? 0 : processes.front().figures.unmatched_messages;
  }
};

// Of those of `results` (setting_results of the same run) that are steps, in their order. Points
// into `results`, which must stay.
std::vector<StepResult> step_results(const RunSummary& run,
                                     const std::vector<SettingResult>& results,
                                     const TracedCells& traced = {});

bool is_step(const SettingResult& result);

// Everything equal but the parts (StepLabel::parts) and the bytes that go with them.
bool same_step(const StepResult& a, const StepResult& b);

// Everything equal but the setting, the ranks, the parts and, where the samples of a step are
// shared by its ranks ("strong"), what is left of them for each.
bool same_kind(const StepResult& a, const StepResult& b);

// Samples that all its ranks work on in one step: ranks that share a replica of the model (tensor
// parallel, pipeline) share its samples.
double samples_per_step(const workload::StepLabel& step);

// "ddp gpt2-124m, bf16, batch 8, sequence 1024, bucket=25MiB": all but ranks and parts. Where ranks
// share the samples of a step, "batch 8 shared by all ranks".
std::string describe_step(const workload::StepLabel& step, model::DataType type);
std::string describe_step(const StepResult& result);

} // namespace ncclprobe::analysis::steps
