// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/step_prediction.h"

#include "workload/step_cells.h"
#include "workload/step_model.h"
#include "workload/tensor_parallel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace ncclprobe::analysis::cost_model {
namespace {

using base::Result;
using steps::StepResult;
using workload::StepParts;
using workload::StepRequest;

bool is_of(const StepResult& result, const StepRequest& request) {
  if (!result.is_default || result.data == DataState::wrong || result.processes.empty() ||
      result.step.pattern != model::to_string(request.pattern) ||
      result.step.model != request.model.name || result.step.sequence != request.model.sequence ||
      result.label.type != workload::data_type(request.type) ||
      result.step.options != workload::option_words(request))
    return false;
  auto own = workload::request_on(request, result.step.ranks);
  return own && own->batch == result.step.batch;
}

const model::Cell* cell_of(const model::Run& run, const StepResult& result) {
  for (const model::TrialRecord& trial : run.trials)
    for (const model::Cell& cell : trial.spec.cells)
      if (cell.label == result.label)
        return &cell;
  return nullptr;
}

std::vector<int> hosts_of(const model::Run& run) {
  std::vector<int> hosts(run.header.ranks.size(), 0);
  for (const model::RankPlace& place : run.header.ranks)
    if (place.rank >= 0 && place.rank < static_cast<int>(hosts.size()))
      hosts[static_cast<std::size_t>(place.rank)] = place.host;
  return hosts;
}

// Where every rank does what one by itself would do, the step without communication tells as well.
bool is_whole_on_each(const StepRequest& request) {
  return (request.pattern == workload::StepPattern::ddp ||
          request.pattern == workload::StepPattern::fsdp) &&
         request.scaling == workload::Scaling::weak;
}

Result<model::Schedule> schedule_on(const StepRequest& request, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  NCCLPROBE_TRY_ASSIGN(const StepRequest own, workload::request_on(request, all));
  return workload::make_step(own, {.world = ranks, .ranks = all});
}

Result<StepProgram> program_on(const StepRequest& request, int ranks, int ranks_per_node) {
  NCCLPROBE_TRY_ASSIGN(const model::Schedule schedule, schedule_on(request, ranks));
  std::vector<int> node_of(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < node_of.size(); ++rank)
    node_of[rank] = static_cast<int>(rank) / std::max(ranks_per_node, 1);
  return StepProgram::of(schedule, node_of);
}

double samples_on(const StepRequest& request, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  auto own = workload::request_on(request, all);
  auto grid = workload::make_rank_grid(request, all);
  return own && grid ? static_cast<double>(own->batch) * grid->replicas() : 0;
}

// A rank by itself: as it was measured, else as the base's times make it.
void find_alone(StepBase& base, const std::vector<StepResult>& results) {
  base.alone_samples = samples_on(base.request, 1);
  for (const StepResult& other : results)
    if (other.step.ranks.size() == 1 && other.step.parts == StepParts::all &&
        is_of(other, base.request)) {
      base.alone_ns = other.times.step_ns;
      base.alone_source = "measured";
      return;
    }
  if (is_whole_on_each(base.request))
    for (const StepResult& other : results)
      if (other.step.parts == StepParts::compute && is_of(other, base.request) &&
          static_cast<int>(other.step.ranks.size()) == base.ranks) {
        base.alone_ns = other.times.step_ns;
        base.alone_source = "measured without communication";
        return;
      }
  std::set<model::Activity> unknown;
  if (auto program = program_on(base.request, 1, 1)) {
    base.alone_ns = program->replay({}, base.works.of(*program, unknown)).step_ns;
    base.alone_source = "computed";
  }
}

using Costs = std::vector<double>;

// Of every transfer; `sign` x its half width besides.
Result<Costs> costs_of(const StepProgram& program, const TransferCosts& transfers,
                       const std::optional<InterNode>& inter_node, double sign = 0) {
  Costs costs;
  for (const Transfer& one : program.transfers()) {
    NCCLPROBE_TRY_ASSIGN(const TransferCosts::Time time, transfers.of(one, inter_node));
    costs.push_back(std::max(time.ns * (1 + sign * time.half_width.value_or(0)), 0.0));
  }
  return costs;
}

Costs scaled(Costs costs, double factor) {
  for (double& one : costs)
    one *= factor;
  return costs;
}

std::string why_no_interval(const StepBase& base, const StepProgram& program,
                            const TransferCosts& transfers,
                            const std::optional<InterNode>& inter_node) {
  if (base.ranks > 0 && !base.half_width)
    return "one process was measured, so nothing is known of how processes differ (run --repeat)";
  for (const Transfer& one : program.transfers())
    if (auto time = transfers.of(one, inter_node); time && !time->half_width) {
      const RankErrors& errors = transfers.rank_errors().at(one.collective);
      return errors.measured.size() < 2
                 ? fmt::format("{} was measured on {} ranks only, so nothing is known of how it "
                               "grows with their number",
                               model::to_string(one.collective), errors.measured.front())
                 : fmt::format("too few sizes of {} were measured to know its scatter",
                               model::to_string(one.collective));
    }
  return "";
}

} // namespace

std::optional<double> half_width_of(const std::vector<double>& times) {
  if (times.size() < 2)
    return std::nullopt;
  const auto n = static_cast<double>(times.size());
  double mean = 0, squares = 0;
  for (double time : times)
    mean += std::log(time) / n;
  for (double time : times)
    squares += std::pow(std::log(time) - mean, 2);
  return student_quantile(n - 1, k_confidence) * std::sqrt(squares / (n - 1) * (1 + 1 / n));
}

std::optional<StepBase> measured_base(const model::Run& run, const std::vector<StepResult>& results,
                                      const StepRequest& request, int most_ranks) {
  const StepResult* widest = nullptr;
  for (const StepResult& one : results)
    if (one.step.parts == StepParts::all && static_cast<int>(one.step.ranks.size()) <= most_ranks &&
        is_of(one, request) && (!widest || one.step.ranks.size() > widest->step.ranks.size()))
      widest = &one;
  const model::Cell* cell = widest ? cell_of(run, *widest) : nullptr;
  if (!cell)
    return std::nullopt;
  auto program = StepProgram::of(cell->schedule, hosts_of(run));
  if (!program)
    return std::nullopt;
  StepBase base{.request = request};
  base.ranks = static_cast<int>(widest->step.ranks.size());
  base.source = fmt::format("measured at {} rank{}", base.ranks, base.ranks == 1 ? "" : "s");
  base.works = WorkCosts::measured(run, *widest, *program);
  base.program = std::move(*program);
  base.measured = widest->times;
  std::vector<double> rests_ns;
  for (const steps::StepProcess& process : widest->processes)
    if (const steps::StepTimes& times = process.figures.times; times.step_ns > times.exposed_ns())
      rests_ns.push_back(times.step_ns - times.exposed_ns());
  base.half_width = half_width_of(rests_ns);
  find_alone(base, results);
  return base.alone_ns > 0 ? std::optional(std::move(base)) : std::nullopt;
}

Flops flops_of(const workload::ModelSpec& spec) {
  const workload::StepModel model = workload::make_step_model(spec);
  return {model.forward_flops(), model.backward_flops()};
}

Result<StepBase> stated_base(const StepRequest& request, const StatedCompute& compute) {
  StepBase base{.request = request, .source = compute.source};
  // Products even if the run's compute was something else: that is what was stated.
  base.request.compute = {};
  base.request.optimizer = compute.optimizer_ns > 0;
  const Flops flops = flops_of(request.model);
  const double samples = samples_on(base.request, 1);
  using enum model::Activity;
  base.works.set_rate(forward, Work::Kind::product, compute.forward_ns / flops.forward / samples);
  base.works.set_rate(backward, Work::Kind::product,
                      compute.backward_ns / flops.backward / samples);
  base.works.set_rate(optimizer, Work::Kind::optimizer,
                      compute.optimizer_ns / static_cast<double>(request.model.parameter_count()));
  NCCLPROBE_TRY(schedule_on(base.request, 1));
  find_alone(base, {});
  return base;
}

std::optional<StepProgram::Times> replayed(const StepBase& base, const TransferCosts& transfers,
                                           const Surroundings& where) {
  if (!base.program)
    return std::nullopt;
  std::optional<InterNode> middle;
  if (where.inter_node)
    middle = where.inter_node->middle();
  auto costs = costs_of(*base.program, transfers, middle);
  std::set<model::Activity> unknown;
  if (!costs)
    return std::nullopt;
  return base.program->replay(*costs, base.works.of(*base.program, unknown));
}

Predicted predict(const StepBase& base, const TransferCosts& transfers, int ranks,
                  const Surroundings& where) {
  Predicted out{.ranks = ranks};
  std::optional<InterNode> middle;
  if (where.inter_node)
    middle = where.inter_node->middle();
  auto program = program_on(base.request, ranks, where.ranks_per_node);
  auto costs = program ? costs_of(*program, transfers, middle) : Result<Costs>(Costs{});
  if (!program || !costs) {
    out.why_not = program ? costs.error().text() : program.error().text();
    return out;
  }
  std::set<model::Activity> unknown;
  const Costs works = base.works.of(*program, unknown);
  for (model::Activity one : unknown)
    out.unknown.emplace_back(model::to_string(one));
  const StepProgram::Times times = program->replay(*costs, works);
  // What no replay knows of, such as gaps between kernels, stays as it was measured.
  double more_ns = 0, more_exposed_ns = 0;
  if (base.ranks > 0)
    if (auto own = replayed(base, transfers, where)) {
      more_ns = base.measured.step_ns - own->step_ns;
      more_exposed_ns = base.measured.exposed_ns() - own->exposed_ns();
    }
  const double least_ns = times.computing_ns;
  out.step_ns = std::max(times.step_ns + more_ns, least_ns);
  out.exposed_ns = std::max(times.exposed_ns() + more_exposed_ns, 0.0);
  const double ideal_ns =
      base.alone_ns / base.alone_samples * samples_on(base.request, ranks) / ranks;
  out.efficiency = ideal_ns / out.step_ns;
  out.why_no_interval = why_no_interval(base, *program, transfers, middle);
  if (!out.why_no_interval.empty())
    return out;
  // Each source by itself goes to either end of what is known of it.
  double below = 0, above = 0;
  auto add = [&](double& share, const Result<Costs>& low, const Result<Costs>& high,
                 double work_half_width) {
    if (!low || !high)
      return;
    const double less_ns =
        program->replay(*low, scaled(works, std::exp(-work_half_width))).step_ns - times.step_ns +
        more_ns * std::expm1(-work_half_width);
    const double plus_ns =
        program->replay(*high, scaled(works, std::exp(work_half_width))).step_ns - times.step_ns +
        more_ns * std::expm1(work_half_width);
    below += less_ns * less_ns;
    above += plus_ns * plus_ns;
    share = (plus_ns - less_ns) / 2 / out.step_ns;
  };
  add(out.from_transfers, costs_of(*program, transfers, middle, -1),
      costs_of(*program, transfers, middle, 1), 0);
  add(out.from_computing, costs, costs, base.half_width.value_or(0));
  if (where.inter_node)
    add(out.from_inter_node, costs_of(*program, transfers, where.inter_node->best),
        costs_of(*program, transfers, where.inter_node->worst), 0);
  const Interval bounds{std::max(out.step_ns - std::sqrt(below), 0.0),
                        out.step_ns + std::sqrt(above)};
  out.step_interval_ns = bounds;
  if (bounds.low > 0)
    out.efficiency_interval = Interval{ideal_ns / bounds.high, ideal_ns / bounds.low};
  return out;
}

std::optional<HeldOut> held_out(const model::Run& run, const std::vector<StepResult>& results,
                                const std::vector<Point>& points, const StepRequest& request,
                                const Surroundings& where) {
  auto all = measured_base(run, results, request, INT32_MAX);
  if (!all)
    return std::nullopt;
  auto fewer = measured_base(run, results, request, all->ranks - 1);
  std::vector<Point> left = points;
  std::erase_if(left, [&](const Point& point) { return point.ranks >= all->ranks; });
  if (!fewer || left.empty())
    return std::nullopt;
  HeldOut out{.predicted =
                  predict(*fewer, TransferCosts(left, where.ranks_per_node), all->ranks, where),
              .measured_ns = all->measured.step_ns};
  if (!out.predicted.why_not.empty())
    return std::nullopt;
  std::set<int> ranks;
  for (const Point& point : left)
    ranks.insert(point.ranks);
  out.from_ranks.assign(ranks.begin(), ranks.end());
  return out;
}

} // namespace ncclprobe::analysis::cost_model
