// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/step_schedules.h"

#include "base/error.h"
#include "workload/ddp_step.h"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace ncclprobe::tests {

using namespace model;
using workload::Layer;
using workload::LayerKind;
using workload::Product;

model::Schedule ddp_schedule(const workload::StepRequest& request, int ranks,
                             model::StepParts parts) {
  return base::value_or_throw(workload::make_ddp_step(request, {ranks, first_ranks(ranks), parts}));
}

double flops(const Schedule& schedule) {
  double sum = 0;
  for (const GemmOp& op : timed<GemmOp>(schedule))
    sum += 2.0 * static_cast<double>(op.m * op.n * op.k * op.batch);
  return sum;
}

workload::ModelSpec small_model() {
  constexpr std::uint64_t width = k_small_width, inner = 4 * width, tokens = k_small_tokens;
  workload::ModelSpec spec;
  spec.name = "small";
  spec.sequence = tokens;
  std::uint64_t place = 0;
  auto add = [&](Layer& layer, std::string name, std::uint64_t elements) {
    layer.parameters.push_back({std::move(name), elements, place++});
  };
  auto weights = [](std::uint64_t n, std::uint64_t k) {
    return Product{Product::Kind::weights, tokens, n, k};
  };
  Layer embedding{"words", LayerKind::embedding};
  embedding.output_elements = tokens * width;
  add(embedding, "words.weight", k_small_words * width);
  spec.layers.push_back(embedding);
  for (int block = 0; block < 2; ++block) {
    Layer attention{fmt::format("{}.attention", block), LayerKind::attention, block};
    attention.output_elements = tokens * width;
    add(attention, "norm", width);
    add(attention, "qkv.weight", 3 * width * width);
    add(attention, "qkv.bias", 3 * width);
    add(attention, "out.weight", width * width);
    add(attention, "out.bias", width);
    attention.products = {weights(3 * width, width),
                          {Product::Kind::activations, tokens, tokens, width / 4, 4},
                          {Product::Kind::activations, tokens, width / 4, tokens, 4},
                          weights(width, width)};
    spec.layers.push_back(attention);
    Layer mlp{fmt::format("{}.mlp", block), LayerKind::mlp, block};
    mlp.output_elements = tokens * width;
    add(mlp, "up.weight", inner * width);
    add(mlp, "up.bias", inner);
    add(mlp, "down.weight", width * inner);
    add(mlp, "down.bias", width);
    mlp.products = {weights(inner, width), weights(width, inner)};
    spec.layers.push_back(mlp);
  }
  Layer head{"head", LayerKind::head};
  head.output_elements = tokens * k_small_words;
  head.products = {weights(k_small_words, width)};
  spec.layers.push_back(head);
  return spec;
}

std::vector<std::string> stretches(const Schedule& schedule, int stream, int rank) {
  std::vector<std::string> labels;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const Operation& operation = schedule.operations[static_cast<std::size_t>(i)];
    const auto* marker = std::get_if<MarkerOp>(&operation.what);
    if (marker && marker->stream == stream && marker->edge == MarkerEdge::begin &&
        names_rank(operation.ranks, rank))
      labels.push_back(marker->label);
  }
  return labels;
}

namespace {

bool is_member(const Schedule& schedule, int communicator, int rank) {
  return names_rank(schedule.communicators.at(static_cast<std::size_t>(communicator)).ranks, rank);
}

// The stream of the work between markers, and whether it communicates; nothing for work that the
// rank does not do or that needs no stretch.
struct Work {
  int stream;
  bool communicates;
};
std::optional<Work> work_of(const Schedule& schedule, const Operation& operation, int rank) {
  if (const auto* op = std::get_if<CollectiveOp>(&operation.what))
    return is_member(schedule, op->communicator, rank) ? std::optional(Work{op->stream, true})
                                                       : std::nullopt;
  if (const auto* op = std::get_if<SendOp>(&operation.what))
    return Work{op->stream, true};
  if (const auto* op = std::get_if<RecvOp>(&operation.what))
    return Work{op->stream, true};
  if (const auto* op = std::get_if<GemmOp>(&operation.what))
    return Work{op->stream, false};
  if (const auto* op = std::get_if<SpinOp>(&operation.what))
    return Work{op->stream, false};
  if (const auto* op = std::get_if<ConvertOp>(&operation.what))
    return Work{op->stream, false};
  if (const auto* op = std::get_if<OptimizerOp>(&operation.what))
    return Work{op->stream, false};
  return std::nullopt;
}

std::string fault_of(const Schedule& schedule, int rank) {
  std::map<int, MarkerOp> open;
  std::vector<MarkerOp> points;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const Operation& operation = schedule.operations[static_cast<std::size_t>(i)];
    if (!names_rank(operation.ranks, rank))
      continue;
    if (const auto* wait = std::get_if<WaitEventOp>(&operation.what);
        wait && open.contains(wait->stream))
      return fmt::format("{}: a wait in '{}'", i, open[wait->stream].label);
    if (auto work = work_of(schedule, operation, rank)) {
      if (!open.contains(work->stream))
        return fmt::format("{}: outside of stretches", i);
      bool said = open[work->stream].activity == Activity::communication;
      if (said != work->communicates)
        return fmt::format("{}: in '{}'", i, open[work->stream].label);
    }
    const auto* marker = std::get_if<MarkerOp>(&operation.what);
    if (!marker)
      continue;
    if (marker->edge == MarkerEdge::point) {
      points.push_back(*marker);
    } else if (marker->edge == MarkerEdge::begin) {
      if (!open.emplace(marker->stream, *marker).second)
        return fmt::format("{}: '{}' begins in another", i, marker->label);
    } else {
      if (!open.contains(marker->stream))
        return fmt::format("{}: '{}' was not begun", i, marker->label);
      MarkerOp expected = open[marker->stream];
      expected.edge = MarkerEdge::end;
      if (*marker != expected)
        return fmt::format("{}: '{}' ends '{}'", i, marker->label, expected.label);
      open.erase(marker->stream);
    }
  }
  if (!open.empty())
    return fmt::format("'{}' never ends", open.begin()->second.label);
  if (points.size() != 2)
    return fmt::format("{} points", points.size());
  return "";
}

} // namespace

std::string marker_fault(const Schedule& schedule, int world) {
  auto at = [&](int i) { return schedule.operations.at(static_cast<std::size_t>(i)); };
  const Operation first = at(schedule.timed.first), last = at(schedule.timed.last - 1);
  if (first.what != Operation{MarkerOp{0, "step"}}.what)
    return "the first is not \"step\"";
  if (last.what != Operation{MarkerOp{0, "step end"}}.what)
    return "the last is not \"step end\"";
  for (int rank = 0; rank < world; ++rank) {
    if (!names_rank(first.ranks, rank))
      continue;
    if (std::string fault = fault_of(schedule, rank); !fault.empty())
      return fmt::format("rank {}, operation {}", rank, fault);
  }
  return "";
}

} // namespace ncclprobe::tests
