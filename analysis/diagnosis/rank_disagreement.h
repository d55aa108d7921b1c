// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_findings.h"
#include "analysis/diagnosis/log_patterns.h"

namespace ncclprobe::analysis {

// Adds to the findings what no single line shows: watchdogs that gave up on different collectives
// of one group of processes, and different versions of NCCL. Both are only possibly causes.
void find_disagreement(const LogPatterns& patterns, LogFindings& findings);

} // namespace ncclprobe::analysis
