// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/step_marks/step_marks.h"

namespace ncclprobe::analysis::steps {

// Fills StretchDecl::exchanges and StepPlan::unmatched_messages.
void find_exchanges(const model::Schedule& schedule, int world_size, StepPlan& plan);

} // namespace ncclprobe::analysis::steps
