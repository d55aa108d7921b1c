// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/made_job.h"
#include "analysis/replay/captured_step.h"
#include "base/error.h"
#include "workload/replay_step.h"

#include <algorithm>
#include <optional>
#include <vector>

// From a made job to the steps that are replayed, and to their schedule.
namespace ncclprobe::analysis_test {

inline model::CapturedStep captured_steps(const analysis::job::MadeJob& job,
                                          std::optional<int> steps) {
  const auto source = job.source();
  const auto found = base::value_or_throw(analysis::job::find_steps(source));
  return base::value_or_throw(
      analysis::replay::captured_step(source, found, {"job", std::nullopt, steps}));
}

inline model::Schedule schedule_of(const model::CapturedStep& step, int world,
                                   model::StepParts parts = model::StepParts::all) {
  std::vector<int> kept = step.ranks;
  kept.resize(std::min<std::size_t>(kept.size(), static_cast<std::size_t>(world)));
  return base::value_or_throw(workload::make_replay_step(step, {world, kept, parts}));
}

} // namespace ncclprobe::analysis_test
