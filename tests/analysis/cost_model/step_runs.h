// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/cost_model/cost_points.h"
#include "model/run.h"
#include "workload/step_request.h"

#include <vector>

// Runs with real schedules of steps whose every operation takes a known time. The marks are made
// stream by stream, by other code than the prediction's.
namespace ncclprobe::analysis_test {

// Of an all-reduce, all-gather or reduce-scatter of so many bytes in all.
double known_transfer_ns(model::Collective collective, int ranks, std::uint64_t bytes);
// A step of a pattern in which all ranks do the same; computing takes `scale` times as long.
double known_step_ns(const workload::StepRequest& request, int ranks, double scale = 1);

// Each step, and without its communication, on each number of ranks, in as many processes as there
// are scales. One host.
model::Run known_run(const workload::StepRequest& request, const std::vector<int>& ranks,
                     const std::vector<double>& scales);

// Of 64 KiB to 64 MiB.
std::vector<analysis::cost_model::Point> known_points(const std::vector<int>& ranks);

} // namespace ncclprobe::analysis_test
