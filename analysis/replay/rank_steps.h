// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/found_steps.h"
#include "analysis/job/job_operation.h"
#include "analysis/replay/computing.h"
#include "analysis/replay/host_pace.h"
#include "analysis/timeline/clocks.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

// What a rank did in the compared steps of a captured job.
namespace ncclprobe::analysis::replay {

// A call, with what the rank's trace says about it.
struct Call {
  job::JobOperation what;
  trace::NcclOperationRow row;
  std::uint64_t communicator = 0; // CommunicatorRow::hash
};

struct StepCalls {
  std::int64_t begun_ns = 0, called_before_ns = 0; // TimedStep
  std::uint64_t shape = 0;                         // equal for steps of the same operations
  std::vector<Call> calls;
  TimedStep timed() const;
};

struct RankSteps {
  int rank = 0;
  std::map<std::uint32_t, StepCalls> steps; // by number
  RecordedKernels kernels;
  bool on_gpu = true; // the GPU's times are known

  std::vector<UnitPlace> units;
  std::vector<int> groups;  // of each call; -1: none
  std::vector<bool> waited; // of each unit
  std::vector<TimedStep> timed_steps() const;
};

// The wanted steps of a rank, without its units. Steps without calls are left out, and those that
// lack some of the GPU's times. `wanted` ascends. All times are on the host's clock; `gpu` is the
// clock of the rank's GPU. Errors: those of the source.
Result<RankSteps> rank_steps(const timeline::TraceSource& source, const job::RankSteps& found,
                             const std::vector<std::uint32_t>& wanted,
                             const std::optional<timeline::ClockModel>& gpu);

} // namespace ncclprobe::analysis::replay
