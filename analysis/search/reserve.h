// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"

namespace ncclprobe::analysis::search {

// What to keep back for the steps after the present one.
struct Reserve {
  int trials = 0;
  double seconds = 0;
};
Reserve confirm_reserve(Progress& progress);
Reserve screen_reserve(Progress& progress);
Reserve race_reserve(Progress& progress);
Reserve leave_out_reserve(Progress& progress);

} // namespace ncclprobe::analysis::search
