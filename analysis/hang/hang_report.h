// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

// The verdict of the first source in which something hangs, else of the first one; then the
// evidence of all. `ras`: what NCCL's RAS answered, in lines.
Report hang_report(const std::vector<Source>& sources, const std::vector<std::string>& ras);

// Whether a source has a hang.
bool hangs(const std::vector<Source>& sources);

} // namespace ncclprobe::analysis::hang
