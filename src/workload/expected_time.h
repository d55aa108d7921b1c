// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/plan.h"

#include <optional>
#include <string>

namespace ncclprobe::workload {

// Expected elapsed time in ns, for `plan --dry-run`, the line before a run, and the time left.
// Within a factor of 2 on an idle machine like those on which the constants were measured.
double expected_start_ns(const model::TrialSpec& trial); // until its first cell
// `launch_ns`: what one launch takes, where that was measured.
double expected_cell_ns(const model::TrialSpec& trial, const model::Cell& cell,
                        std::optional<double> launch_ns = {});
double expected_trial_ns(const model::TrialSpec& trial);
double expected_ns(const Plan& plan); // of all trials
// Rounded, because it is an estimate: "0.4 s", "12 s", "3 min 20 s".
std::string expected_text(double nanoseconds);

} // namespace ncclprobe::workload
