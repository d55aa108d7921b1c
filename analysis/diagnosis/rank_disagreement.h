// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_findings.h"
#include "analysis/diagnosis/log_patterns.h"

namespace ncclprobe::analysis {

// Adds findings that no single line shows: watchdogs that gave up on different collectives of one
// process group, and different versions of NCCL. Both are only possible causes.
void find_disagreement(const LogPatterns& patterns, LogFindings& findings);

} // namespace ncclprobe::analysis
