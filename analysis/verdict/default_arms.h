// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"

#include <vector>

namespace ncclprobe::analysis {

// The default runs twice in each block of trials. These two arms differ only in when they ran.
struct DefaultArms {
  std::vector<double> even_ns; // times of the processes with an even replicate number
  std::vector<double> odd_ns;
};
DefaultArms default_arms(const SettingResult& result);

} // namespace ncclprobe::analysis
