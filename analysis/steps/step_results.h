// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "analysis/step_marks/step_figures.h"
#include "analysis/steps/by_kernels.h"
#include "model/cell_label.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Training steps over all processes of a run. As everywhere, the unit of observation is a process:
// its steps depend on each other (docs/method.md).
namespace ncclprobe::analysis::steps {

struct StepProcess {
  int trial = 0;
  StepFigures figures;
  std::optional<double> sm_clock_mhz; // as in StepResult
};

// One setting and kind of step.
struct StepResult {
  const SettingResult* pooled = nullptr; // its samples, by the host's clock
  std::string setting;
  bool is_default = false;
  model::CellLabel label;
  model::StepLabel step;
  DataState data = DataState::checked;
  std::uint64_t throttle_reasons = 0; // conditions.h
  int throttled_processes = 0;
  std::optional<double> sm_clock_mhz; // median of all readings while timed, on training ranks
  std::optional<std::uint64_t>
      most_memory_bytes; // used on a device by all processes, of these readings

  std::vector<StepProcess> processes; // with valid marks; may be none
  std::vector<std::string> refusals;  // "trial 3: rank 1 has no marks"; no duplicates

  // Over processes: the median step time, and its mean shares.
  StepTimes times;
  std::optional<Interval> interval_ns; // interval of the step time; needs six processes or more
  double stragglers_ns = 0;
  std::map<int, StepTimes> ranks;   // by global rank: mean over processes
  std::vector<BucketTimes> buckets; // medians over processes
  // From the first traced trial; nothing if no trace is known.
  std::optional<ByKernels> by_kernels;
  const StepProcess* process_of(int trial) const;
  std::size_t steps_per_launch() const { // the same in all processes
    return processes.empty() ? 1 : processes.front().figures.steps_per_launch;
  }
  // By the host's clock, which times launches.
  double host_step_ns() const { return pooled->time_ns / static_cast<double>(steps_per_launch()); }
  std::size_t unmatched_messages() const { // given by the schedule: the same in all processes
    return processes.empty() ? 0 : processes.front().figures.unmatched_messages;
  }
};

// For those of `results` (setting_results of the same run) that are steps, in their order. Points
// into `results`, which must outlive it.
std::vector<StepResult> step_results(const RunSummary& run,
                                     const std::vector<SettingResult>& results,
                                     const TracedCells& traced = {});

bool is_step(const SettingResult& result);

// Equal in everything but the parts (StepLabel::parts) and their bytes.
bool same_step(const StepResult& a, const StepResult& b);

// Equal in everything but the setting, the ranks, the parts and, if the ranks of a step share its
// samples ("strong"), each rank's share.
bool same_kind(const StepResult& a, const StepResult& b);

// Samples of all its ranks in one step: ranks that share a replica of the model (tensor parallel,
// pipeline) share its samples.
double samples_per_step(const model::StepLabel& step);

// "ddp gpt2-124m, bf16, batch 8, sequence 1024, bucket=25MiB": everything but ranks and parts. If
// ranks share the samples of a step, "batch 8 shared by all ranks".
std::string describe_step(const model::StepLabel& step);
std::string describe_step(const StepResult& result);

} // namespace ncclprobe::analysis::steps
