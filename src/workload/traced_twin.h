// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <map>
#include <string>
#include <vector>

namespace ncclprobe::workload {

// Turns a copy of a measuring trial into its traced twin: the same except for the trace. Variables
// of the launching environment stay unchanged.
void make_traced(model::TrialSpec& trial, model::TraceLevel level,
                 const std::map<std::string, std::string>& environment);

// What traces will lack because of the launching environment; one line each.
std::vector<std::string> lost_to_traces(const std::map<std::string, std::string>& environment,
                                        const std::string& backend);

} // namespace ncclprobe::workload
