// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/cost_points.h"
#include "model/cell_label.h"
#include "model/run.h"
#include "workload/step_request.h"

#include <functional>
#include <vector>

// Runs with real schedules of steps whose every operation takes a known time. The marks are made
// stream by stream, by other code than the prediction's.
namespace ncclprobe::analysis_test {

// For an all-reduce, all-gather or reduce-scatter of that many bytes in total.
double known_transfer_ns(model::Collective collective, int ranks, std::uint64_t bytes);
// A step of a pattern in which all ranks do the same; computing takes `scale` times as long.
double known_step_ns(const workload::StepRequest& request, int ranks, double scale = 1);

// Each step, and without its communication, on each number of ranks, in as many processes as there
// are scales. One host.
model::Run known_run(const workload::StepRequest& request, const std::vector<int>& ranks,
                     const std::vector<double>& scales);

// The duration of a rank's operation; asked again for each step.
using OperationTime = std::function<double(const model::Operation&)>;
using CellTimes =
    std::function<OperationTime(int process, const model::StepLabel&, const model::Schedule&)>;
// As in known_run(), and each operation that is no transfer takes `launch_ns` besides.
OperationTime launched_times(int ranks, double scale, double launch_ns);
// The same, as `times` says.
model::Run simulated_run(const workload::StepRequest& request, const std::vector<int>& ranks,
                         int processes, int steps, const CellTimes& times);
// One step on so many ranks.
model::Schedule step_on(const workload::StepRequest& request, int ranks);
double step_ns(const model::Schedule& schedule, const OperationTime& time_ns);
// S as nccl-tests means it.
std::uint64_t moved_bytes(const model::CollectiveOp& call, int ranks);

// Of 64 KiB to 64 MiB.
std::vector<analysis::cost_model::Point> known_points(const std::vector<int>& ranks);

// Steps on 1, 2 and 4 ranks, and collectives of several sizes.
model::Run run_with_sizes(const std::vector<double>& scales = {1, 1.001});

} // namespace ncclprobe::analysis_test
