// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/alike_transfers.h"
#include "analysis/job/gap_causes.h"
#include "analysis/job/host_phases.h"
#include "analysis/job/late_causes.h"
#include "analysis/job/step_path.h"

namespace ncclprobe::analysis::job {

// Names the causes of what takes time on a rank: by kernels, NVTX ranges and launches, as far as
// they were recorded.
class DelayOrigins {
public:
  DelayOrigins(const StepGraph& graph, const StepModel& model)
      : graph_(graph), model_(model), gaps_(graph, model), hosts_(graph) {}

  bool knows_kernels() const { return gaps_.knows_any(); }
  const std::vector<timeline::PhasePath>& phases() const { return hosts_.phases(); }

  struct Origin {
    DelayOrigin origin;
    CauseSeenBy seen_by = CauseSeenBy::times;
    int phase = -1; // phases(), of the host
  };
  // Of what exceeds the usual.
  Origin of(std::uint32_t run, const MeasuredOperation& measured, const PathPart& part,
            const AlikeTransfers& alike) const;

  struct Division {
    GapCauses::Parts parts{};
    double late_ns = 0; // not in `parts`: by the launches alone, the host was late
  };
  // What a part of a path that is no transfer consists of.
  Division divided(std::uint32_t run, const MeasuredOperation& measured,
                   const PathPart& part) const;

private:
  const StepGraph& graph_;
  const StepModel& model_;
  GapCauses gaps_;
  HostPhases hosts_;
};

} // namespace ncclprobe::analysis::job
