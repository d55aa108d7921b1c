// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tune/tuning.h"

namespace ncclprobe::analysis::tune {

// What each change of the fastest combination of process parameters gained, and whether it was left
// out. In JSON: "changes".
TablePtr change_table(const Tuning& tuning);

// How the library ran each target, by default and otherwise: a row for each target for which both
// are known, as delivered and with each candidate of Tuning::choices.
TablePtr choices_table(const Tuning& tuning);

// Whether in-process settings were as fast in fresh processes, as delivered, as within a process of
// the search. In JSON: "in_process".
TablePtr in_process_table(const Tuning& tuning);

// Where the time of each training step went: a row for the default, one for the delivery, and one
// for the difference. In ns.
TablePtr step_parts_table(const Tuning& tuning);

} // namespace ncclprobe::analysis::tune
