// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/expert_parallel.h"

namespace ncclprobe::workload {

using namespace model;

Result<ModelSpec> expert_parallel_part(const ModelSpec& whole, int ranks) {
  ModelSpec part = whole;
  bool has_experts = false;
  for (Layer& layer : part.layers) {
    if (layer.kind != LayerKind::experts || layer.experts == 0)
      continue;
    has_experts = true;
    auto parts = static_cast<std::size_t>(ranks);
    if (layer.experts % ranks != 0 || layer.parameters.size() % parts != 0)
      return fail(Errc::unsupported, "{} experts cannot be shared by {} ranks", layer.experts,
                  ranks);
    layer.experts /= ranks;
    layer.parameters.resize(layer.parameters.size() / parts);
  }
  if (!has_experts)
    return fail(Errc::unsupported, "{} has no experts", whole.name);
  return part;
}

ModelSpec without_experts(const ModelSpec& part, int ranks) {
  ModelSpec rest = part;
  for (Layer& layer : rest.layers)
    if (layer.kind == LayerKind::experts && ranks > 1)
      layer.parameters.clear();
  return rest;
}

ExpertParallel::ExpertParallel(StepBuilder& build, const StepRequest& request,
                               const StepScope& scope, const ModelSpec& part)
    : build_(build), request_(request), part_(part), ranks_(scope.size()) {
  if (request.pattern != StepPattern::moe || !build.communicates())
    return;
  group_ = build.add_groups("experts", {scope.ranks});
  stream_ = build.add_stream("experts", request.priority);
}

void ExpertParallel::exchange(std::size_t index, const char* what, std::uint64_t samples) {
  const Layer& layer = part_.layers[index];
  if (group_.empty() || layer.kind != LayerKind::experts || layer.products.empty())
    return;
  const Product& product = layer.products.front();
  std::uint64_t count = (product.rows * samples * product.k + ranks_ - 1) / ranks_;
  auto [found, is_new] = places_.try_emplace(count);
  Places& at = found->second;
  if (is_new) {
    std::uint64_t bytes = count * ranks_ * build_.element_bytes();
    at.send = {build_.add_buffer("tokens", bytes, request_.memory)};
    at.receive = {build_.add_buffer("tokens of others", bytes, request_.memory)};
    build_.fill(Collective::all_to_all, group_, at.send, count * ranks_, build_.type());
    build_.check(Collective::all_to_all, group_, at.receive, count, build_.type());
  }
  build_.follow(stream_, StepBuilder::compute);
  build_.enter(stream_, Activity::communication, fmt::format("{} {}", what, layer.name));
  build_.collective(Collective::all_to_all, group_, stream_, at.send, at.receive, count,
                    build_.type());
  build_.leave(stream_);
  build_.follow(StepBuilder::compute, stream_);
}

} // namespace ncclprobe::workload
