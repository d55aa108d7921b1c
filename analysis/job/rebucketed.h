// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_model.h"

#include <cstdint>

namespace ncclprobe::analysis::job {

// How long gradients of these sizes take: a latency and a rate, from the medians of all sizes that
// were seen.
struct GradientCost {
  double latency_ns = 0, ns_per_byte = 0;
  double of(double bytes) const { return latency_ns + ns_per_byte * bytes; }
};
GradientCost gradient_cost(const StepGraph& graph, const StepModel& model);

bool is_gradient(const StepGraph& graph, const GraphOperation& operation,
                 const std::vector<std::string>& texts);

// Joins gradients that follow each other, and divides larger ones, so that each is sent in buckets
// of about `bytes`. A first bucket of at most 2 MiB stays, as PyTorch makes one. A joined bucket is
// ready with its last part. Returns how many operations were gradients.
std::uint64_t rebucket(const StepGraph& graph, StepRun& run, MeasuredRun& measured,
                       const GradientCost& cost, std::uint64_t bytes,
                       const std::vector<std::string>& texts);

} // namespace ncclprobe::analysis::job
