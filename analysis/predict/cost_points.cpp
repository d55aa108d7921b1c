// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/cost_points.h"

#include "analysis/proof/proof.h"
#include "analysis/steps/step_results.h"
#include "workload/schedule_rules.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ncclprobe::analysis::cost_model {
namespace {

std::optional<Use> default_use(const std::vector<SettingProof>& proofs,
                               const model::CellLabel& label) {
  for (const SettingProof& proof : proofs)
    if (proof.is_default)
      return one_use(proof, label);
  return std::nullopt;
}

void add_collectives(const std::vector<SettingResult>& results,
                     const std::vector<SettingProof>& proofs, model::TimingMode mode,
                     std::vector<Point>& points) {
  for (const SettingResult& result : results) {
    const auto* one = result.label.collective();
    if (!one || !one->is_plain() || !result.is_default || result.data == DataState::wrong ||
        result.timing_mode != mode || result.ranks < 2 || result.label.bytes == 0 ||
        !(result.time_ns > 0))
      continue;
    auto other_place = [&](const SettingResult& other) {
      model::CellLabel label = other.label;
      label.placement = model::Placement::in_place;
      return other.label.placement == model::Placement::out_of_place && label == result.label &&
             other.ranks == result.ranks && other.timing_mode == mode && other.is_default;
    };
    if (result.label.placement == model::Placement::in_place &&
        std::any_of(results.begin(), results.end(), other_place))
      continue;
    Point point{.collective = one->collective,
                .ranks = result.ranks,
                .bytes = result.label.bytes,
                .time_ns = result.time_ns,
                .launch_ns = result.launch_ns};
    if (auto use = default_use(proofs, result.label)) {
      point.algorithm = use->algorithm;
      point.protocol = use->protocol;
    }
    points.push_back(std::move(point));
  }
}

void add_steps(const RunSummary& run, const std::vector<SettingResult>& results,
               const std::vector<SettingProof>& proofs, std::vector<Point>& points) {
  for (const steps::StepResult& step : steps::step_results(run, results)) {
    if (!step.is_default || step.step.parts != model::StepParts::communication ||
        step.data == DataState::wrong || step.buckets.empty() || step.step.copies_input())
      continue;
    for (const model::TrialRecord& trial : run.trials) {
      auto cell =
          std::find_if(trial.spec.cells.begin(), trial.spec.cells.end(),
                       [&](const model::Cell& candidate) { return candidate.label == step.label; });
      if (cell == trial.spec.cells.end())
        continue;
      auto moved = moved_by(cell->schedule, trial.spec.ranks);
      // The companion reports all stretches of the step together.
      const Use use = default_use(proofs, step.label).value_or(Use{});
      for (std::size_t i = 0; i < std::min(moved.size(), step.buckets.size()); ++i)
        if (moved[i] && moved[i]->ranks > 1 && moved[i]->bytes > 0 &&
            step.buckets[i].transfer_ns > 0)
          points.push_back({.collective = moved[i]->collective,
                            .ranks = moved[i]->ranks,
                            .bytes = moved[i]->bytes,
                            .time_ns = step.buckets[i].transfer_ns,
                            .algorithm = use.algorithm,
                            .protocol = use.protocol});
      break;
    }
  }
}

} // namespace

std::vector<std::optional<Moved>> moved_by(const model::Schedule& schedule, int world_size) {
  auto plan = steps::plan_of(schedule, world_size);
  std::vector<std::optional<Moved>> out;
  if (!plan)
    return out;
  for (std::size_t s = 0; s < plan->stretches.size(); ++s) {
    const steps::StretchDecl& stretch = plan->stretches[s];
    if (stretch.activity != model::Activity::communication || stretch.same != static_cast<int>(s))
      continue;
    std::optional<Moved> moved;
    int operations = 0;
    for (int i = stretch.begin + 1; i < stretch.end; ++i) {
      const auto& what = schedule.operations[static_cast<std::size_t>(i)].what;
      operations += std::holds_alternative<model::SendOp>(what) ||
                    std::holds_alternative<model::RecvOp>(what);
      const auto* one = std::get_if<model::CollectiveOp>(&what);
      if (!one || one->stream != stretch.stream || one->communicator < 0 ||
          one->communicator >= static_cast<int>(schedule.communicators.size()))
        continue;
      const int ranks = static_cast<int>(
          workload::members_of(schedule.communicators[static_cast<std::size_t>(one->communicator)],
                               world_size)
              .size());
      const auto blocks = model::block_counts(one->collective, ranks);
      const Moved now{one->collective, ranks,
                      one->count * model::size_bytes(one->type) *
                          static_cast<std::uint64_t>(std::max(blocks.send, blocks.receive))};
      operations += moved != now;
      moved = now;
    }
    out.push_back(operations == 1 ? moved : std::nullopt);
  }
  return out;
}

std::vector<Point> cost_points(const RunSummary& run, const std::vector<SettingResult>& results) {
  std::vector<Point> points;
  const std::vector<SettingProof> proofs = setting_proofs(run);
  add_collectives(results, proofs, model::TimingMode::batch, points);
  add_steps(run, results, proofs, points);
  add_points(points, {});
  return points;
}

std::vector<Point> latency_points(const model::Run& run,
                                  const std::vector<SettingResult>& results) {
  std::vector<Point> points;
  add_collectives(results, setting_proofs(run), model::TimingMode::latency, points);
  add_points(points, {});
  return points;
}

void add_points(std::vector<Point>& points, std::vector<Point> more) {
  std::move(more.begin(), more.end(), std::back_inserter(points));
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return std::tuple(a.collective, a.ranks, a.bytes) < std::tuple(b.collective, b.ranks, b.bytes);
  });
}

std::vector<Point> with_nearest_algorithms(std::vector<Point> points) {
  const std::vector<Point> known = [&] {
    std::vector<Point> some = points;
    std::erase_if(some, [](const Point& point) { return point.algorithm.empty(); });
    return some;
  }();
  for (Point& point : points) {
    if (!point.algorithm.empty())
      continue;
    double least = 0;
    for (const Point& other : known) {
      if (other.collective != point.collective || other.ranks != point.ranks)
        continue;
      const double distance =
          std::abs(std::log(static_cast<double>(other.bytes) / static_cast<double>(point.bytes)));
      if (!point.algorithm.empty() && distance >= least)
        continue;
      least = distance;
      point.algorithm = other.algorithm;
      point.protocol = other.protocol;
    }
  }
  return points;
}

} // namespace ncclprobe::analysis::cost_model
