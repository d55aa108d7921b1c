// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/rank_stacks.h"
#include "analysis/hang/verdict.h"
#include "analysis/report_value/report_value.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis::hang {

struct Source {
  std::string name; // "job/", "12 dumps of PyTorch's flight recorder"
  Job job;
  Verdict verdict;
};

// What was asked of a job that lives.
struct LiveAnswers {
  std::vector<std::string> ras; // lines of NCCL's RAS
  std::vector<RankStacks> stacks;
};

// The verdict of the first source in which something hangs, else of the first one; then the
// evidence of all.
Report hang_report(const std::vector<Source>& sources, const LiveAnswers& live);

// Whether a source has a hang.
bool hangs(const std::vector<Source>& sources);

} // namespace ncclprobe::analysis::hang
