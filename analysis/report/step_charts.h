// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/steps/scaling.h"

#include <vector>

// The pictures of training steps, for writers that can draw.
namespace ncclprobe::analysis {

// What the time of each step went to: its parts add up to it. Steps without marks are left out.
Chart parts_chart(const std::vector<const steps::StepResult*>& steps);

// When the data of each bucket is ready, and when it waits and is transferred.
Chart buckets_chart(const steps::StepResult& step);

// Efficiency over the number of ranks, and the loss account of each. The scaling must stay.
std::vector<Chart> scaling_charts(const steps::Scaling& scaling);

} // namespace ncclprobe::analysis
