// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/node_type.h"
#include "analysis/steps/step_builder.h"
#include "support/run_builder.h"

#include <string>
#include <vector>

// Types of nodes with known steps.
namespace ncclprobe::analysis_test {

// Of a step of 2 ranks that takes `scale` times 420 us.
StepLengths lengths(double scale);
// A process that takes that long, on one rank too.
void add_trial(support::RunBuilder& run, double scale,
               const std::vector<model::Setting>& settings = {});
// A process for each scale.
support::RunBuilder run_of(const std::vector<double>& scales);
// Six scales, within 0.2%.
std::vector<double> around(double middle);

// With two H200.
analysis::procure::NodeType node_of(const std::string& name, std::vector<model::Run> runs,
                                    double per_hour);
// With four T4.
analysis::procure::NodeType published_t4();

// Of the runs above.
inline const analysis::procure::Workload k_m{.model = "m"};
// For published rates.
inline const analysis::procure::Workload k_linear{
    .model = "linear:1024x4", .batch = 64, .type = model::StepType::f16};

} // namespace ncclprobe::analysis_test
