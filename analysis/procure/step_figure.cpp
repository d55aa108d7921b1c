// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/step_figure.h"

#include "analysis/predict/prediction.h"
#include "analysis/procure/published_step.h"
#include "analysis/report/heading.h"
#include "analysis/results/power.h"
#include "analysis/statistics/statistics.h"
#include "analysis/steps/step_results.h"
#include "base/text_layout.h"
#include "workload/models/model_file.h"
#include "workload/step_cells.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis::procure {
namespace {

using model::StepParts;
using steps::StepResult;

bool is_meant(const StepResult& result, const NodeType& node, const Workload& workload, int ranks) {
  const model::StepLabel& step = result.step;
  return step.parts == StepParts::all && step.options.pattern == workload.pattern &&
         step.model == workload.model && static_cast<int>(step.ranks.size()) == ranks &&
         (!workload.batch || *workload.batch == step.batch) &&
         (!workload.sequence || *workload.sequence == step.sequence) &&
         (!workload.type || *workload.type == step.options.type) && !step.copies_input() &&
         result.data != DataState::wrong && !result.processes.empty() &&
         (node.setting.empty() ? result.is_default : result.setting == node.setting);
}

// What a run measured of the step.
struct RunPart {
  std::vector<Observation> processes;
  std::vector<double> exposed; // share of the step, by process
  std::optional<steps::ScalingPoint> scaling;
  std::optional<steps::BoundBy> bound_by;
  std::string step;
  std::optional<workload::StepRequest> request;
  double samples = 0;
};

// With the power of all its GPUs, unless some of them has no reading.
Observation observation_of(const RunSummary& run, const StepResult& result, int trial,
                           double step_ns) {
  Observation one{.step_ns = step_ns};
  const auto& processes = result.pooled->processes;
  auto process = std::ranges::find(processes, trial, &ProcessTime::trial);
  if (process == processes.end())
    return one;
  const ProcessPower power = process_power(run, *result.pooled, *process);
  if (power.gpu_w.size() < result.step.ranks.size())
    return one;
  one.gpus_w = 0;
  for (std::size_t i = 0; i < power.gpu_w.size(); ++i)
    *one.gpus_w += power.gpu_w.value(i);
  one.power_source = power.source;
  return one;
}

// Nothing for a model that is not known by its name.
std::optional<workload::StepRequest> request_behind(const model::StepLabel& step) {
  auto model = workload::find_model(step.model, {.sequence = step.sequence});
  if (!model)
    return std::nullopt;
  auto request = workload::request_of(step, std::move(*model));
  return request ? std::optional(std::move(*request)) : std::nullopt;
}

RunPart part_of(const RunSummary& run, const std::vector<StepResult>& results,
                const StepResult& result) {
  RunPart part{.step = describe_step(result),
               .request = request_behind(result.step),
               .samples = steps::samples_per_step(result.step)};
  for (const steps::StepProcess& process : result.processes) {
    const steps::StepTimes& times = process.figures.times;
    part.processes.push_back(observation_of(run, result, process.trial, times.step_ns));
    part.exposed.push_back(times.exposed_ns() / times.step_ns);
  }
  for (steps::Scaling& scaling : steps::scalings(results))
    for (steps::ScalingPoint& point : scaling.points)
      if (point.result == &result && point.ranks > scaling.points.front().ranks)
        part.scaling = std::move(point);
  for (const steps::BreakEven& one : steps::break_evens(results))
    if (one.result == &result)
      part.bound_by = one.bound_by;
  if (part.scaling)
    part.scaling->result = nullptr; // it goes with the run
  return part;
}

// Of each run that measured the step. Errors: invalid_argument if they measured several kinds.
base::Result<std::vector<RunPart>> parts_of(const NodeType& node, const Workload& workload,
                                            int ranks) {
  std::vector<RunPart> parts;
  for (const model::Run& one : node.runs) {
    const RunSummary run(one);
    const std::vector<SettingResult> pooled = setting_results(run);
    const std::vector<StepResult> results = steps::step_results(run, pooled);
    for (const StepResult& result : results)
      if (is_meant(result, node, workload, ranks))
        parts.push_back(part_of(run, results, result));
  }
  for (const RunPart& part : parts)
    if (part.step != parts.front().step)
      return base::fail(base::Errc::invalid_argument,
                        "several steps are meant: {}; {} (give batch, sequence or type)",
                        parts.front().step, part.step);
  return parts;
}

double geometric_step_ns(const std::vector<Observation>& observations) {
  std::vector<double> times_ns;
  for (const Observation& one : observations)
    times_ns.push_back(one.step_ns);
  return geometric_mean(times_ns);
}

// The processes of a run as one. Without the power of one of them it has none.
Observation mean_of(const std::vector<Observation>& processes) {
  Observation mean{.step_ns = geometric_step_ns(processes), .gpus_w = 0};
  for (const Observation& one : processes) {
    if (mean.gpus_w && one.gpus_w)
      *mean.gpus_w += *one.gpus_w / static_cast<double>(processes.size());
    else
      mean.gpus_w.reset();
    mean.power_source = std::max(mean.power_source, one.power_source);
  }
  return mean;
}

Bounds range_of(const Estimate& estimate) {
  return estimate.interval && estimate.interval->low > 0
             ? Bounds{estimate.interval->low, estimate.interval->high}
             : Bounds{};
}

// By NVML, else what the model of the GPU draws at most.
void find_power(StepFigure& figure, const NodeType& node) {
  std::vector<double> read_w;
  auto source = PowerSource::energy_counter;
  for (const Observation& one : figure.observations)
    if (one.gpus_w) {
      read_w.push_back(*one.gpus_w);
      source = std::max(source, one.power_source);
    }
  if (!read_w.empty() && read_w.size() == figure.observations.size()) {
    const auto [low, high] = std::ranges::minmax_element(read_w);
    figure.gpus_w = Bounds{*low, *high};
    figure.power_source = source == PowerSource::energy_counter ? PowerOrigin::energy_counter
                                                                : PowerOrigin::power_readings;
    return;
  }
  figure.gpus_w = power_limits_w(node, figure.ranks);
  figure.power_source = figure.gpus_w->high ? PowerOrigin::published : PowerOrigin::unknown;
  if (figure.origin == Origin::measured)
    figure.notes.push_back("power was not read in every process: NVML's readings count for steps "
                           "that were measured for a second or longer");
}

void fill_measured(StepFigure& figure, const std::vector<RunPart>& parts) {
  figure.origin = Origin::measured;
  figure.step = parts.front().step;
  figure.request = parts.front().request;
  figure.samples = parts.front().samples;
  figure.between_runs = parts.size() >= k_least_runs;
  std::vector<double> exposed;
  std::size_t processes = 0;
  const RunPart* largest = &parts.front();
  for (const RunPart& part : parts) {
    processes += part.processes.size();
    if (part.processes.size() > largest->processes.size())
      largest = &part;
    if (figure.between_runs) {
      figure.observations.push_back(mean_of(part.processes));
      exposed.push_back(mean_estimate(part.exposed, k_confidence).value);
      continue;
    }
    figure.observations.insert(figure.observations.end(), part.processes.begin(),
                               part.processes.end());
    exposed.insert(exposed.end(), part.exposed.begin(), part.exposed.end());
  }
  figure.source = fmt::format("{}, {}", base::count_of(parts.size(), "run", "runs"),
                              base::count_of(processes, "process", "processes"));
  std::vector<double> times_ns;
  for (const Observation& one : figure.observations)
    times_ns.push_back(one.step_ns);
  const Estimate step_ns = ratio_estimate(times_ns, k_confidence);
  figure.step_ns = step_ns.value;
  figure.range_ns = range_of(step_ns);
  const Estimate share = mean_estimate(exposed, k_confidence);
  figure.exposed = share.value;
  if (share.interval)
    figure.exposed_range = Bounds{std::max(share.interval->low, 0.0), share.interval->high};
  figure.bound_by = largest->bound_by;
  if (const auto& point = largest->scaling) {
    figure.efficiency = point->efficiency.value;
    if (point->efficiency.interval)
      figure.efficiency_range = range_of(point->efficiency);
    figure.account = point->account;
    if (point->account.sum() > 0)
      figure.loss = steps::loss_sentence(point->account, "communication");
  } else {
    figure.notes.push_back("no scaling efficiency: the step was measured at one number of ranks");
  }
}

// Options of predict are no keys of a file of nodes.
std::string why_no_interval(const cost_model::Predicted& one) {
  return one.why_no_interval &&
                 one.why_no_interval->kind == &cost_model::no_interval::k_few_products
             ? "too few sizes of products were measured to know how their rate changes (measure "
               "another model too, and add that run to the runs of the node)"
             : in_words(one.why_no_interval);
}

// From other steps of the runs. Errors: those of predict(), or why no run predicts it.
base::Result<void> fill_predicted(StepFigure& figure, const NodeType& node,
                                  const Workload& workload) {
  if (!node.setting.empty())
    return base::fail(base::Errc::unsupported,
                      "its runs did not measure it with {}, and only the default is predicted",
                      node.setting);
  PredictionRequest request{.model = workload.model,
                            .ranks = {figure.ranks},
                            .ranks_per_node = node.gpu.count,
                            .sequence = workload.sequence.value_or(0),
                            .says_batch = workload.batch.has_value(),
                            .of_nodes_file = true};
  request.say = [&workload](workload::StepRequest& step) {
    step.pattern = workload.pattern;
    step.batch = workload.batch.value_or(step.batch);
    if (workload.type)
      step.type = *workload.type;
  };
  const std::vector<model::Run> also(node.runs.begin() + 1, node.runs.end());
  NCCLPROBE_TRY_ASSIGN(const Prediction prediction, predict(node.runs.front(), request, also));
  const cost_model::Predicted& one = prediction.predicted.front();
  if (one.why_not)
    return base::fail(base::Errc::not_found, "{}", in_words(one.why_not));
  if (!one.step_interval_ns)
    return base::fail(base::Errc::not_found, "predicted as {:.3f} ms, with an unknown error: {}",
                      one.step_ns / 1e6, why_no_interval(one));
  figure.origin = Origin::predicted;
  figure.source = "predicted from its runs: computing " + prediction.base.source;
  figure.request = prediction.base.request;
  figure.samples = cost_model::samples_on(prediction.base.request, figure.ranks);
  figure.step_ns = one.step_ns;
  figure.range_ns = Bounds{one.step_interval_ns->low, one.step_interval_ns->high};
  figure.efficiency = one.efficiency;
  if (one.efficiency_interval)
    figure.efficiency_range = Bounds{one.efficiency_interval->low, one.efficiency_interval->high};
  figure.exposed = one.exposed_ns / one.step_ns;
  return {};
}

base::Result<void> fill(StepFigure& figure, const NodeType& node, const Workload& workload) {
  if (node.published)
    return fill_published(figure, node, workload);
  NCCLPROBE_TRY_ASSIGN(const std::vector<RunPart> parts, parts_of(node, workload, figure.ranks));
  if (parts.empty())
    return fill_predicted(figure, node, workload);
  fill_measured(figure, parts);
  return {};
}

} // namespace

Value range_value(const std::optional<Bounds>& range, double unit) {
  if (!range)
    return nullptr;
  return List{six_digits(range->low / unit),
              range->high ? Value(six_digits(*range->high / unit)) : Value()};
}

bool is_synthetic(const NodeType& node) {
  return std::ranges::any_of(node.runs,
                             [](const model::Run& run) { return analysis::is_synthetic(run); });
}

StepFigure step_figure(const NodeType& node, const Workload& workload) {
  StepFigure figure{.synthetic = is_synthetic(node),
                    .ranks = workload.ranks > 0 ? workload.ranks : node.gpu.count};
  if (auto filled = fill(figure, node, workload); !filled) {
    figure.why_unknown = filled.error().text();
    return figure;
  }
  find_power(figure, node);
  if (figure.synthetic)
    figure.origin = Origin::synthetic;
  return figure;
}

} // namespace ncclprobe::analysis::procure
