// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/option.h"
#include "topology/rank_sets.h"
#include "workload/step_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// The training step to measure, from the command line and a plan file. Unset: not given. If an
// option has several values, all are measured.
struct WorkloadOptions {
  std::optional<model::StepPattern> pattern;
  std::optional<std::string> model; // name or file
  std::optional<std::uint64_t> sequence;
  std::optional<std::vector<std::uint64_t>> batches;
  std::optional<std::vector<model::StepType>> types;
  std::optional<model::Scaling> scaling;
  std::optional<std::vector<int>> rank_counts; // unset: 1, 2, 4 ... and all
  std::optional<topology::RankChoice> placement;
  std::optional<model::StepCompute> compute;
  std::optional<bool> optimizer;
  std::optional<std::vector<int>> accumulate;
  std::optional<std::vector<int>> priorities; // of collectives' streams too
  std::optional<bool> found_inf;
  std::optional<std::vector<std::uint64_t>> buckets; // bytes
  std::optional<bool> bucket_view;
  std::optional<std::vector<model::Compression>> compression;
  std::optional<bool> reshard;
  std::optional<std::vector<int>> prefetch;
  std::optional<std::vector<int>> tensor;
  std::optional<bool> sequence_parallel;
  std::optional<std::vector<int>> micro_batches;
  std::optional<model::PipelineOrder> order;
  std::optional<std::vector<model::InputCopy>> input_copies;
  bool operator==(const WorkloadOptions&) const = default;
};

// Calls one(value, member of StepRequest) for options with one value, and several(values, member)
// for options with several.
template <typename One, typename Several>
void for_each_value(const WorkloadOptions& said, One one, Several several) {
  using workload::StepRequest;
  one(said.pattern, &StepRequest::pattern);
  one(said.scaling, &StepRequest::scaling);
  one(said.compute, &StepRequest::compute);
  one(said.optimizer, &StepRequest::optimizer);
  one(said.found_inf, &StepRequest::found_inf);
  one(said.bucket_view, &StepRequest::bucket_view);
  one(said.reshard, &StepRequest::reshard);
  one(said.sequence_parallel, &StepRequest::sequence_parallel);
  one(said.order, &StepRequest::order);
  several(said.batches, &StepRequest::batch);
  several(said.types, &StepRequest::type);
  several(said.accumulate, &StepRequest::accumulate);
  several(said.buckets, &StepRequest::bucket_bytes);
  several(said.compression, &StepRequest::compression);
  several(said.prefetch, &StepRequest::prefetch);
  several(said.tensor, &StepRequest::tensor);
  several(said.micro_batches, &StepRequest::micro_batches);
}

inline constexpr std::uint64_t k_default_batch = 8;
// The defaults of a step.
WorkloadOptions default_step();

// The options of a step; and those that `predict` uses to select measured steps.
Options workload_options(WorkloadOptions& into);
Options predicted_step_options(WorkloadOptions& into);

} // namespace ncclprobe::cli
