// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/memory_need.h"

#include "workload/expert_parallel.h"
#include "workload/step_cells.h"
#include "workload/tensor_parallel.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace ncclprobe::analysis::procure {
namespace {

using model::StepPattern;
using workload::Layer;
using workload::ModelSpec;
using workload::StepRequest;

constexpr double k_moments_bytes = 8; // of a parameter

// Parameters by block; those of the root are at -1.
std::map<int, double> parameters_by_block(const ModelSpec& model) {
  std::map<int, double> parameters{{-1, 0}};
  for (const Layer& layer : model.layers)
    for (const workload::Parameter& one : layer.parameters)
      parameters[layer.block] += static_cast<double>(one.elements);
  return parameters;
}

// What fsdp gathers: the root, which it keeps, and the largest block.
double largest_gathered(const ModelSpec& model) {
  double most = 0;
  const auto parameters = parameters_by_block(model);
  for (const auto& [block, count] : parameters)
    if (block != -1)
      most = std::max(most, count);
  return parameters.at(-1) + most;
}

// The layers on one rank, as the schedules split them; of a pipeline all stages.
base::Result<ModelSpec> part_of_rank(const StepRequest& request, int tensor, int ranks) {
  if (has_part(request.pattern, StepPattern::tp))
    return workload::tensor_parallel_part(request.model, tensor);
  if (request.pattern == StepPattern::moe)
    return workload::expert_parallel_part(request.model, ranks);
  return request.model;
}

} // namespace

base::Result<MemoryNeed> memory_need(const StepRequest& request, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  NCCLPROBE_TRY_ASSIGN(const StepRequest own, workload::request_on(request, all));
  NCCLPROBE_TRY_ASSIGN(const workload::RankGrid grid, workload::make_rank_grid(request, all));
  NCCLPROBE_TRY_ASSIGN(const ModelSpec part, part_of_rank(request, grid.tensor, ranks));
  const auto type_bytes = static_cast<double>(size_bytes(data_type(request.type)));
  auto parameters = static_cast<double>(part.parameter_count());
  if (request.pattern == StepPattern::pipeline)
    parameters /= ranks;
  MemoryNeed need{.weights = parameters * type_bytes};
  if (has_part(request.pattern, StepPattern::fsdp) && grid.replicas() > 1) {
    const double whole = parameters;
    parameters /= grid.replicas();
    need.weights =
        request.reshard ? (parameters + largest_gathered(part)) * type_bytes : whole * type_bytes;
  }
  need.gradients = parameters * type_bytes;
  need.optimizer = request.optimizer ? parameters * k_moments_bytes : 0;
  if (!has_part(request.pattern, StepPattern::tp) && request.pattern != StepPattern::pipeline) {
    need.activations = 0;
    for (const Layer& layer : part.layers)
      *need.activations +=
          static_cast<double>(layer.output_elements) * static_cast<double>(own.batch) * type_bytes;
  }
  return need;
}

std::optional<double> gpu_memory_bytes(const GpuInQuestion& gpu) {
  if (gpu.memory_gb)
    return *gpu.memory_gb * 1e9;
  std::optional<double> most;
  for (const knowledge::GpuModel* model : gpu.models) {
    if (!model->memory_gb)
      return std::nullopt;
    most = std::max(most, std::optional(*model->memory_gb * static_cast<double>(1 << 30)));
  }
  return most;
}

Fits fits(const std::optional<MemoryNeed>& need, const std::optional<double>& memory_bytes) {
  if (!need || !memory_bytes)
    return Fits::unknown;
  return need->states() > *memory_bytes  ? Fits::no
         : need->total() > *memory_bytes ? Fits::with_recompute
                                         : Fits::possible;
}

} // namespace ncclprobe::analysis::procure
