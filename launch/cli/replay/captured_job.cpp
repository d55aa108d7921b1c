// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/replay/captured_job.h"

#include "analysis/replay/captured_step.h"
#include "launch/cli/files/chosen_trace.h"
#include "launch/cli/files/trace_source.h"
#include "workload/replay_step.h"

namespace ncclprobe::cli {

base::Result<model::CapturedStep> step_to_replay(const CapturedJob& job, int world) {
  NCCLPROBE_TRY_ASSIGN(const ChosenTrace chosen, choose_trace(job.path, std::nullopt));
  NCCLPROBE_TRY_ASSIGN(const auto source, trace_source(chosen.file, nullptr));
  NCCLPROBE_TRY_ASSIGN(const auto found, analysis::job::find_steps(source));
  std::string name = job.path.string();
  while (name.size() > 1 && name.ends_with('/'))
    name.pop_back();
  NCCLPROBE_TRY_ASSIGN(
      model::CapturedStep step,
      analysis::replay::captured_step(source, found, {name, job.step_kind, job.steps}));
  NCCLPROBE_TRY_ASSIGN(step.replayed, workload::ranks_to_replay(step, world, job.captured_ranks));
  step.compute = job.compute;
  for (std::string& lost : workload::lost_by(step, step.replayed))
    step.remarks.push_back(std::move(lost));
  return step;
}

} // namespace ncclprobe::cli
