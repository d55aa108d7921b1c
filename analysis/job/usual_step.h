// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/found_steps.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ncclprobe::analysis::job {

// How long the steps of the most frequent kind last. It compares no clocks.
struct UsualStep {
  std::string kind; // its operations in words, the same in two captures of one job
  std::uint64_t steps = 0;
  double step_ns = 0;  // the median over ranks of their medians; 0: no step has a length
  bool on_gpu = false; // by the GPUs' times on all ranks; otherwise by those of the calls
};
// Nothing if no steps were found. Errors: those of the source.
base::Result<std::optional<UsualStep>> usual_step(const timeline::TraceSource& source,
                                                  const FoundSteps& found);

} // namespace ncclprobe::analysis::job
