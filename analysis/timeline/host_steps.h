// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"

#include <vector>

namespace ncclprobe::analysis::timeline {

// A rank's steps on its host: from the call of a step's first operation to that of the next step.
// Steps without a known end are left out.
struct HostSteps {
  Spans windows; // sorted, do not overlap
  std::vector<int> cells;
};
HostSteps host_steps(const RankTrace& trace, const OperationIndex& operations);

Span span_of(const trace::RangeRow& row);

// Whether a range covers more than one whole step: an epoch, or all of the training.
bool covers_several(const Span& range, const Spans& windows);

} // namespace ncclprobe::analysis::timeline
