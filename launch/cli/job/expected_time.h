// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/plan.h"

#include <string>

namespace ncclprobe::cli {

// Expected wall time in ns, for `plan --dry-run`, the line before a run and the time left: right
// within a factor of 2 on an idle machine such as those that the constants were seen on.
double expected_start_ns(const model::TrialSpec& trial); // until its first cell
double expected_cell_ns(const model::TrialSpec& trial, const model::Cell& cell);
double expected_trial_ns(const model::TrialSpec& trial);
double expected_ns(const workload::Plan& plan); // of all its trials
// Rounded, as it is a guess: "0.4 s", "12 s", "3 min 20 s".
std::string expected_text(double nanoseconds);

} // namespace ncclprobe::cli
