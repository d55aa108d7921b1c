// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/ddp_prediction.h"

#include "workload/models/ddp_buckets.h"
#include "workload/step_model.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::cost_model {
namespace {

using steps::StepResult;
using workload::StepParts;

bool is_ddp_of(const StepResult& result, const std::string& model) {
  return result.is_default && result.step.pattern == "ddp" && result.step.model == model &&
         result.data != DataState::wrong && !result.processes.empty();
}

const model::Cell* cell_of(const model::Run& run, const StepResult& result) {
  for (const model::TrialRecord& trial : run.trials)
    for (const model::Cell& cell : trial.spec.cells)
      if (cell.label == result.label)
        return &cell;
  return nullptr;
}

// The step of one rank by itself, like `at`.
double alone_ns(const std::vector<StepResult>& results, const StepResult& at) {
  for (const StepResult& other : results)
    if (other.step.ranks.size() == 1 && other.step.parts == StepParts::all &&
        !other.processes.empty() && other.setting == at.setting && same_kind(other, at) &&
        other.step.batch == at.step.batch)
      return other.times.step_ns;
  for (const StepResult& other : results)
    if (other.step.parts == StepParts::compute && !other.processes.empty() && same_step(other, at))
      return other.times.step_ns;
  return 0;
}

} // namespace

double exposed_ns(const std::vector<Bucket>& buckets,
                  const std::function<double(std::uint64_t bytes)>& time_ns) {
  double end_ns = 0, ready_ns = 0;
  for (const Bucket& bucket : buckets) {
    end_ns = std::max(end_ns, bucket.ready_ns) + time_ns(bucket.bytes);
    ready_ns = bucket.ready_ns;
  }
  return std::max(end_ns - ready_ns, 0.0);
}

std::optional<DdpStep> measured_step(const model::Run& run, const std::vector<StepResult>& results,
                                     const std::string& model, int most_ranks) {
  const StepResult* widest = nullptr;
  for (const StepResult& one : results)
    if (is_ddp_of(one, model) && one.step.parts == StepParts::all && !one.buckets.empty() &&
        static_cast<int>(one.step.ranks.size()) <= most_ranks &&
        (!widest || one.step.ranks.size() > widest->step.ranks.size()))
      widest = &one;
  const model::Cell* cell = widest ? cell_of(run, *widest) : nullptr;
  if (!cell)
    return std::nullopt;
  const auto moved = moved_by(cell->schedule, static_cast<int>(run.header.ranks.size()));
  if (moved.size() != widest->buckets.size())
    return std::nullopt;
  DdpStep step;
  for (std::size_t i = 0; i < moved.size(); ++i)
    if (moved[i] && moved[i]->collective == model::Collective::all_reduce && moved[i]->ranks > 1)
      step.buckets.push_back({moved[i]->bytes, widest->buckets[i].ready_ns});
  step.alone_ns = alone_ns(results, *widest);
  if (step.buckets.empty() || !(step.alone_ns > 0))
    return std::nullopt;
  step.ranks = static_cast<int>(widest->step.ranks.size());
  step.source = fmt::format("measured at {} ranks", step.ranks);
  step.measured_step_ns = widest->times.step_ns;
  step.measured_exposed_ns = widest->times.exposed_transfer_ns;
  step.rest_ns = step.measured_step_ns - step.measured_exposed_ns;
  if (widest->interval_ns) {
    const double scale = step.rest_ns / step.measured_step_ns;
    step.rest_interval_ns =
        Interval{widest->interval_ns->low * scale, widest->interval_ns->high * scale};
  }
  return step;
}

Flops flops_of(const workload::ModelSpec& spec) {
  const workload::StepModel model = workload::make_step_model(spec);
  return {model.forward_flops(), model.backward_flops()};
}

DdpStep stated_step(const workload::ModelSpec& spec, model::DataType type,
                    std::optional<std::uint64_t> bucket_bytes, const StatedCompute& compute) {
  workload::DdpOptions options = workload::ddp_options(bucket_bytes);
  options.type = type;
  const workload::StepModel model = workload::make_step_model(spec);
  // Share of the backward pass that is over behind each layer; the last layer comes first.
  std::vector<double> done(model.layers.size(), 1);
  const double all = model.backward_flops();
  double sum = 0;
  for (std::size_t i = model.layers.size(); i-- > 0;) {
    for (const workload::StepProduct& product : model.layers[i].products)
      sum += product.backward_flops();
    if (all > 0)
      done[i] = sum / all;
  }
  DdpStep step;
  for (const workload::DdpBucket& bucket : workload::ddp_buckets(spec, options))
    step.buckets.push_back(
        {bucket.elements * model::size_bytes(type),
         compute.forward_ns + compute.backward_ns * done[bucket.completed_by_layer]});
  step.rest_ns = compute.forward_ns + compute.backward_ns + compute.optimizer_ns;
  step.alone_ns = step.rest_ns;
  step.source = compute.source;
  return step;
}

std::optional<double> modelled_exposed_ns(const DdpStep& step, const RankModel& collectives,
                                          int ranks, const std::optional<InterNode>& inter_node) {
  bool known = true;
  const double exposed = exposed_ns(step.buckets, [&](std::uint64_t bytes) {
    auto time = collectives.at(ranks, bytes, inter_node);
    known = known && time.has_value();
    return time ? time->ns : 0.0;
  });
  return known ? std::optional(exposed) : std::nullopt;
}

Predicted predict(const DdpStep& step, const RankModel& collectives, int ranks,
                  const std::optional<InterNode>& inter_node, std::optional<double> error) {
  Predicted out{.ranks = ranks};
  auto modelled = modelled_exposed_ns(step, collectives, ranks, inter_node);
  if (!modelled) {
    out.why_not = "more ranks than a node has: say what is between nodes (--inter-node)";
    return out;
  }
  double left_out_ns = 0;
  if (step.ranks > 0)
    if (auto own = modelled_exposed_ns(step, collectives, step.ranks, inter_node))
      left_out_ns = *own - step.measured_exposed_ns;
  bool bounded = true;
  auto exposed = [&](double Interval::*side) {
    const double ns = exposed_ns(step.buckets, [&](std::uint64_t bytes) {
      const RankModel::Time time = *collectives.at(ranks, bytes, inter_node);
      if (time.interval_ns)
        return (*time.interval_ns).*side;
      bounded = bounded && error.has_value();
      const double off = error.value_or(0) * time.ns;
      return side == &Interval::low ? std::max(time.ns - off, 0.0) : time.ns + off;
    });
    return std::max(ns - left_out_ns, 0.0);
  };
  out.exposed_ns = std::max(*modelled - left_out_ns, 0.0);
  out.step_ns = step.rest_ns + out.exposed_ns;
  out.efficiency = step.alone_ns / out.step_ns;
  const Interval rest = step.rest_interval_ns.value_or(Interval{step.rest_ns, step.rest_ns});
  const Interval bounds{rest.low + exposed(&Interval::low), rest.high + exposed(&Interval::high)};
  if (!bounded)
    return out;
  out.step_interval_ns = bounds;
  out.efficiency_interval = Interval{step.alone_ns / bounds.high, step.alone_ns / bounds.low};
  return out;
}

std::optional<HeldOut> held_out(const model::Run& run, const std::vector<StepResult>& results,
                                const std::vector<Point>& points, const std::string& model,
                                int ranks_per_node, const std::optional<InterNode>& inter_node) {
  auto all = measured_step(run, results, model, INT32_MAX);
  if (!all)
    return std::nullopt;
  auto fewer = measured_step(run, results, model, all->ranks - 1);
  std::vector<Point> left = points;
  std::erase_if(left, [&](const Point& point) { return point.ranks >= all->ranks; });
  auto collectives = RankModel::fit(left, model::Collective::all_reduce, ranks_per_node);
  if (!fewer || !collectives)
    return std::nullopt;
  HeldOut out{.predicted = predict(*fewer, *collectives, all->ranks, inter_node, std::nullopt),
              .measured_ns = all->measured_step_ns};
  if (!out.predicted.why_not.empty())
    return std::nullopt;
  std::set<int> ranks;
  for (const Point& point : left)
    if (point.collective == model::Collective::all_reduce)
      ranks.insert(point.ranks);
  out.from_ranks.assign(ranks.begin(), ranks.end());
  return out;
}

} // namespace ncclprobe::analysis::cost_model
