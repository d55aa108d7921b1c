// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tune/tuning.h"

namespace ncclprobe::analysis::tune {

// The library's regret: how much faster than its own choice the best choice in process was, for
// each target, and the same of each value of the parameter that matters most (of NCCL, the
// algorithm), with the best values of the others. In shares of the speed: 0.05 is 5% faster. As
// screened: a candidate that was left early was measured briefly, and the best of many was lucky,
// too.
TablePtr choice_map(const Tuning& tuning);

// The speed of each candidate in process against the library's choice, for each target.
TablePtr candidate_map(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
