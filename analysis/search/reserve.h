// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"

namespace ncclprobe::analysis::search {

// The time to keep back, in seconds, for the steps after the present one.
double confirm_reserve_s(Progress& progress);
double screen_reserve_s(Progress& progress);
double leave_out_reserve_s(Progress& progress);

} // namespace ncclprobe::analysis::search
