// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_prediction.h"

#include "analysis/steps/measured_cell.h"
#include "workload/step_cells.h"
#include "workload/step_model.h"
#include "workload/tensor_parallel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace ncclprobe::analysis::cost_model {
namespace {

using model::StepParts;
using steps::StepResult;
using workload::StepRequest;

bool is_of(const StepResult& result, const StepRequest& request) {
  if (!result.is_default || result.data == DataState::wrong || result.processes.empty() ||
      result.step.model != request.model.name || result.step.sequence != request.model.sequence ||
      result.step.options != request.of_pattern())
    return false;
  auto own = workload::request_on(request, result.step.ranks);
  return own && own->batch == result.step.batch;
}

// If every rank does the same as a single rank, the step without communication can serve too.
bool is_whole_on_each(const StepRequest& request) {
  return (request.pattern == model::StepPattern::ddp ||
          request.pattern == model::StepPattern::fsdp) &&
         request.scaling == model::Scaling::weak;
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

// A single rank: as it was measured, else from the base's times.
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
  if (auto program = program_on(base.request, 1, 1)) {
    base.alone_ns = program->replay({}, base.works.of(*program).ns).step_ns;
    base.alone_source = "computed";
  }
}

struct Works {
  StepProgram program;
  WorkCosts works;
};
std::optional<Works> measured_works(const model::Run& run, const StepResult& result) {
  const model::Cell* cell = steps::cell_of(run, result);
  if (!cell)
    return std::nullopt;
  auto program = StepProgram::of(cell->schedule, steps::hosts_of(run));
  if (!program)
    return std::nullopt;
  WorkCosts works = WorkCosts::measured(run, result, *program);
  return Works{std::move(*program), std::move(works)};
}
int ranks_of(const StepResult& result) {
  return static_cast<int>(result.step.ranks.size());
}

// The run's measurements of a step on one number of ranks.
struct MeasuredStep {
  const StepResult* result = nullptr;
  Works whole;
  WorkCosts alone; // without communication if that was measured, else the whole step
};
// By ranks.
std::vector<MeasuredStep> measured_steps(const model::Run& run,
                                         const std::vector<StepResult>& results,
                                         const StepRequest& request, int most_ranks) {
  std::map<int, MeasuredStep> steps;
  for (const StepResult& one : results) {
    if (one.step.parts != StepParts::all || ranks_of(one) > most_ranks ||
        steps.contains(ranks_of(one)) || !is_of(one, request))
      continue;
    if (auto whole = measured_works(run, one))
      steps.emplace(ranks_of(one), MeasuredStep{&one, *whole, whole->works});
  }
  for (const StepResult& one : results)
    if (auto step = steps.find(ranks_of(one));
        step != steps.end() && one.step.parts == StepParts::compute &&
        one.step.ranks == step->second.result->step.ranks && is_of(one, request))
      if (auto alone = measured_works(run, one))
        step->second.alone = std::move(alone->works);
  std::vector<MeasuredStep> by_ranks;
  for (auto& [ranks, step] : steps)
    by_ranks.push_back(std::move(step));
  return by_ranks;
}

using Costs = std::vector<double>;

// For every transfer, with `sign` x its half width added.
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

// If the replay differs by more, it misses something that may differ on other ranks.
constexpr double k_most_replay_error = 0.1;
// Share of the step: no more may be computing whose time at that size has an unknown error.
constexpr double k_most_untold = 0.1;

Why why_no_interval(const StepBase& base, const StepProgram& program,
                    const TransferCosts& transfers, const std::optional<InterNode>& inter_node,
                    const Predicted& out, double untold_ns,
                    const std::optional<double>& replay_error) {
  using namespace no_interval;
  if (!out.unknown.empty())
    return Finding{&k_unknown_activities,
                   {{"activities", fmt::format("{}", fmt::join(out.unknown, ", "))}}};
  if (untold_ns > k_most_untold * out.step_ns)
    return Finding{&k_unknown_sizes, {{"ranks", out.ranks}}};
  if (!base.half_width)
    return base.why_no_half_width;
  if (base.program && !replay_error)
    return Finding{&k_no_replay};
  if (std::abs(replay_error.value_or(0)) > k_most_replay_error)
    return Finding{&k_replay_is_off, {{"percent", 100 * *replay_error}}};
  for (const Transfer& one : program.transfers())
    if (auto time = transfers.of(one, inter_node); time && !time->half_width) {
      const RankErrors& errors = transfers.rank_errors().at(one.collective);
      if (errors.measured.size() < 2)
        return Finding{&k_one_number_of_ranks,
                       {{"collective", one.collective}, {"ranks", errors.measured.front()}}};
      return Finding{&k_few_sizes, {{"collective", one.collective}}};
    }
  return {};
}

} // namespace

double samples_on(const StepRequest& request, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  auto own = workload::request_on(request, all);
  auto grid = workload::make_rank_grid(request, all);
  return own && grid ? static_cast<double>(own->batch) * grid->replicas() : 0;
}

StatedCompute stated_at_rate(const StepRequest& request, const Stated& flops_per_s) {
  const Flops flops = flops_of(request.model);
  auto time_ns = [&](double flops_of_sample) {
    const double all = flops_of_sample * static_cast<double>(request.batch) * 1e9;
    return Stated(all / flops_per_s.high, all / flops_per_s.low);
  };
  const std::string text =
      flops_per_s.low < flops_per_s.high
          ? fmt::format("{:g} to {:g}", flops_per_s.low / 1e12, flops_per_s.high / 1e12)
          : fmt::format("{:g}", flops_per_s.low / 1e12);
  return {.forward_ns = time_ns(flops.forward),
          .backward_ns = time_ns(flops.backward),
          .optimizer_ns = {},
          .source =
              fmt::format("products of {} samples at the stated {} Tflop/s", request.batch, text),
          .basis = StatedCompute::Basis::rate};
}

double StatedCompute::half_width() const {
  const double low = forward_ns.low + backward_ns.low + optimizer_ns.low;
  const double high = forward_ns.high + backward_ns.high + optimizer_ns.high;
  return low > 0 ? std::log(high / low) / 2 : 0;
}

std::set<model::Collective> collectives_of(const StepRequest& request, int ranks) {
  std::set<model::Collective> collectives;
  if (auto program = program_on(request, ranks, ranks))
    for (const Transfer& one : program->transfers())
      collectives.insert(one.collective);
  return collectives;
}

std::optional<StepBase> measured_base(const model::Run& run, const std::vector<StepResult>& results,
                                      const StepRequest& request, int most_ranks) {
  std::vector<MeasuredStep> steps = measured_steps(run, results, request, most_ranks);
  if (steps.empty())
    return std::nullopt;
  std::vector<WorkCosts::Measured> sizes;
  for (const MeasuredStep& one : steps)
    sizes.push_back({ranks_of(*one.result), &one.whole.works, &one.alone});
  const StepResult& widest = *steps.back().result;
  StepBase base{.request = request};
  base.ranks = ranks_of(widest);
  base.source = fmt::format("measured at {} rank{}", base.ranks, base.ranks == 1 ? "" : "s");
  base.works = steps.back().whole.works;
  base.works.learn_growth(sizes);
  base.program = std::move(steps.back().whole.program);
  base.measured = widest.times;
  base.measured_ranks = base.ranks;
  base.half_width = half_width_of(rests_of(widest));
  base.why_no_half_width = Finding{&no_interval::k_one_process};
  find_alone(base, results);
  return base.alone_ns > 0 ? std::optional(std::move(base)) : std::nullopt;
}

Flops flops_of(const workload::ModelSpec& spec) {
  const workload::StepModel model = workload::make_step_model(spec);
  return {model.forward_flops(), model.backward_flops()};
}

Result<StepBase> stated_base(const StepRequest& request, const StatedCompute& compute,
                             const std::vector<MeasuredRates>& others) {
  StepBase base{.request = request, .source = compute.source};
  // Products even if the run's compute was something else, because the user stated them.
  base.request.compute = {};
  base.request.optimizer = compute.optimizer_ns.high > 0;
  const Flops flops = flops_of(request.model);
  const double samples = samples_on(base.request, 1);
  using enum model::Activity;
  base.works.set_rate(forward, Work::Kind::product,
                      compute.forward_ns.middle() / flops.forward / samples);
  base.works.set_rate(backward, Work::Kind::product,
                      compute.backward_ns.middle() / flops.backward / samples);
  base.works.set_rate(optimizer, Work::Kind::optimizer,
                      compute.optimizer_ns.middle() /
                          static_cast<double>(request.model.parameter_count()));
  for (const MeasuredRates& one : others)
    base.works.take_rates(one.works);
  base.half_width = compute.half_width();
  NCCLPROBE_TRY_ASSIGN(const StepProgram alone, program_on(base.request, 1, 1));
  if (compute.basis == StatedCompute::Basis::time)
    base.works.learn_least_products(alone);
  find_alone(base, {});
  return base;
}

Result<StepBase> rated_base(const StepRequest& request, const std::vector<MeasuredRates>& others) {
  auto from = std::find_if(others.begin(), others.end(),
                           [](const MeasuredRates& one) { return one.has_products(); });
  if (from == others.end())
    return base::fail(base::Errc::not_found, "no measured step computes products");
  const int ranks = static_cast<int>(from->result->step.ranks.size());
  StepBase base{.request = request};
  base.request.compute = {};
  base.source = fmt::format("by the rates of {} at {} rank{}: {}", describe_step(*from->result),
                            ranks, ranks == 1 ? "" : "s", rates_in_words(from->works));
  base.works.take_rates(from->works);
  NCCLPROBE_TRY_ASSIGN(const StepProgram alone, program_on(base.request, 1, 1));
  base.works.learn_least_products(alone);
  for (const MeasuredRates& one : others) {
    base.works.take_rates(one.works);
    base.works.learn_least_products(one.program);
  }
  base.program = from->program;
  base.measured = from->result->times;
  base.measured_ranks = ranks;
  const auto of_processes = half_width_of(rests_of(*from->result));
  const auto of_sizes = spread_of_rates({from, others.end()});
  if (of_processes && of_sizes)
    base.half_width = std::hypot(*of_processes, *of_sizes);
  base.why_no_half_width =
      Finding{of_processes ? &no_interval::k_few_products : &no_interval::k_one_process};
  find_alone(base, {});
  return base;
}

std::optional<StepProgram::Times> replayed(const StepBase& base, const TransferCosts& transfers,
                                           const ClusterShape& where) {
  if (!base.program)
    return std::nullopt;
  std::optional<InterNode> middle;
  if (where.inter_node)
    middle = where.inter_node->middle();
  auto costs = costs_of(*base.program, transfers, middle);
  if (!costs)
    return std::nullopt;
  return base.program->replay(*costs, base.works.of(*base.program).ns);
}

Predicted predict(const StepBase& base, const TransferCosts& transfers, int ranks,
                  const ClusterShape& where) {
  Predicted out{.ranks = ranks};
  std::optional<InterNode> middle;
  if (where.inter_node)
    middle = where.inter_node->middle();
  auto program = program_on(base.request, ranks, where.ranks_per_node);
  auto costs = program ? costs_of(*program, transfers, middle) : Result<Costs>(Costs{});
  if (!program || !costs) {
    out.why_not =
        program ? Finding{&unpredicted::k_unknown_transfer, {{"problem", costs.error().text()}}}
                : Finding{&unpredicted::k_impossible_step, {{"problem", program.error().text()}}};
    return out;
  }
  const WorkTimes works = base.works.of(*program);
  for (model::Activity one : works.unknown)
    out.unknown.emplace_back(model::to_string(one));
  const StepProgram::Times times = program->replay(*costs, works.ns);
  // Costs that no replay includes, such as gaps between kernels, stay as measured.
  double more_ns = 0, more_exposed_ns = 0;
  std::optional<double> replay_error; // nothing stated
  if (auto known = replayed(base, transfers, where)) {
    replay_error = known->step_ns / base.measured.step_ns - 1;
    if (base.ranks > 0) {
      more_ns = base.measured.step_ns - known->step_ns;
      more_exposed_ns = base.measured.exposed_ns() - known->exposed_ns();
    }
  }
  const double least_ns = times.computing_ns;
  out.step_ns = std::max(times.step_ns + more_ns, least_ns);
  out.exposed_ns = std::max(times.exposed_ns() + more_exposed_ns, 0.0);
  const double ideal_ns =
      base.alone_ns / base.alone_samples * samples_on(base.request, ranks) / ranks;
  out.efficiency = ideal_ns / out.step_ns;
  const double works_ns = std::accumulate(works.ns.begin(), works.ns.end(), 0.0); // of all ranks
  const double untold_ns = works_ns > 0 ? works.untold_ns / works_ns * times.computing_ns : 0;
  out.why_no_interval =
      why_no_interval(base, *program, transfers, middle, out, untold_ns, replay_error);
  if (out.why_no_interval)
    return out;
  // Each source separately goes to either end of its range.
  double below = 0, above = 0, less_efficient = 0, more_efficient = 0;
  // A single-rank baseline from the same rates has the same error with the opposite sign.
  auto add_efficiency = [&](double step_ns, double work_half_width) {
    const double more =
        ideal_ns * std::exp(base.ranks > 0 ? 0 : work_half_width) / step_ns - out.efficiency;
    (more < 0 ? less_efficient : more_efficient) += more * more;
  };
  auto add = [&](double& share, const Result<Costs>& low, const Result<Costs>& high,
                 double work_half_width) {
    if (!low || !high)
      return;
    const double less_ns =
        program->replay(*low, scaled(works.ns, std::exp(-work_half_width))).step_ns -
        times.step_ns + more_ns * std::expm1(-work_half_width);
    const double plus_ns =
        program->replay(*high, scaled(works.ns, std::exp(work_half_width))).step_ns -
        times.step_ns + more_ns * std::expm1(work_half_width);
    below += less_ns * less_ns;
    above += plus_ns * plus_ns;
    add_efficiency(out.step_ns + less_ns, -work_half_width);
    add_efficiency(out.step_ns + plus_ns, work_half_width);
    share = (plus_ns - less_ns) / 2 / out.step_ns;
  };
  add(out.from_transfers, costs_of(*program, transfers, middle, -1),
      costs_of(*program, transfers, middle, 1), 0);
  add(out.from_computing, costs, costs, base.half_width.value_or(0));
  add(out.from_sizes, costs, costs, works_ns > 0 ? works.size_error_ns / works_ns : 0);
  if (where.inter_node)
    add(out.from_inter_node, costs_of(*program, transfers, where.inter_node->best),
        costs_of(*program, transfers, where.inter_node->worst), 0);
  // The errors of earlier replays may occur again.
  out.from_replay =
      std::max(std::abs(replay_error.value_or(0)), std::abs(base.held_out_error.value_or(0)));
  below += std::pow(out.from_replay * out.step_ns, 2);
  above += std::pow(out.from_replay * out.step_ns, 2);
  add_efficiency(out.step_ns * (1 - out.from_replay), 0);
  add_efficiency(out.step_ns * (1 + out.from_replay), 0);
  const Interval bounds{std::max(out.step_ns - std::sqrt(below), 0.0),
                        out.step_ns + std::sqrt(above)};
  out.step_interval_ns = bounds;
  if (base.ranks == 0)
    out.efficiency_interval = Interval{std::max(out.efficiency - std::sqrt(less_efficient), 0.0),
                                       out.efficiency + std::sqrt(more_efficient)};
  else if (bounds.low > 0)
    out.efficiency_interval = Interval{ideal_ns / bounds.high, ideal_ns / bounds.low};
  return out;
}

std::optional<HeldOut> held_out(const model::Run& run, const std::vector<StepResult>& results,
                                const std::vector<Point>& points, const StepRequest& request,
                                const ClusterShape& where) {
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
  if (out.predicted.why_not)
    return std::nullopt;
  std::set<int> ranks;
  for (const Point& point : left)
    ranks.insert(point.ranks);
  out.from_ranks.assign(ranks.begin(), ranks.end());
  return out;
}

} // namespace ncclprobe::analysis::cost_model
