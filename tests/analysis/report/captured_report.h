// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/made_job.h"
#include "analysis/report/timeline_report.h"

namespace ncclprobe::analysis_test {

// Two pairs of tensor-parallel ranks, and two of data-parallel ones. Rank 3 computes 3 ms longer in
// every fifth step. An evaluation follows every 20 steps.
analysis::job::MadeJob training_job();

// As `ncclprobe report job/` makes it.
analysis::Report captured_report(const analysis::job::MadeJob& made,
                                 const std::vector<const char*>& what_ifs = {});

} // namespace ncclprobe::analysis_test
