// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/step_figure.h"

#include "analysis/predict/prediction.h"
#include "analysis/procure/published_step.h"
#include "analysis/results/power.h"
#include "analysis/statistics/statistics.h"
#include "analysis/steps/step_results.h"
#include "base/text_layout.h"

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
  double samples = 0;
  bool synthetic = false;
};

// Of all its GPUs; nothing if some of them has no reading.
std::optional<double> all_gpus_w(const RunSummary& run, const StepResult& result, int trial) {
  const auto& processes = result.pooled->processes;
  auto process = std::ranges::find(processes, trial, &ProcessTime::trial);
  if (process == processes.end())
    return std::nullopt;
  const RankValues power_w = process_power_w(run, *result.pooled, *process);
  if (power_w.size() < result.step.ranks.size())
    return std::nullopt;
  double sum_w = 0;
  for (std::size_t i = 0; i < power_w.size(); ++i)
    sum_w += power_w.value(i);
  return sum_w;
}

RunPart part_of(const RunSummary& run, const std::vector<StepResult>& results,
                const StepResult& result) {
  RunPart part{.step = describe_step(result),
               .samples = steps::samples_per_step(result.step),
               .synthetic = run.header.synthetic || run.header.backend == "synthetic"};
  for (const steps::StepProcess& process : result.processes) {
    const steps::StepTimes& times = process.figures.times;
    part.processes.push_back({times.step_ns, all_gpus_w(run, result, process.trial)});
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

std::optional<double> mean_power_w(const std::vector<Observation>& observations) {
  double sum_w = 0;
  for (const Observation& one : observations) {
    if (!one.gpus_w)
      return std::nullopt;
    sum_w += *one.gpus_w / static_cast<double>(observations.size());
  }
  return sum_w;
}

Bounds range_of(const Estimate& estimate) {
  return estimate.interval && estimate.interval->low > 0
             ? Bounds{estimate.interval->low, estimate.interval->high}
             : Bounds{};
}

// NVML's readings, else what the model of the GPU draws at most.
void find_power(StepFigure& figure, const NodeType& node) {
  std::vector<double> read_w;
  for (const Observation& one : figure.observations)
    if (one.gpus_w)
      read_w.push_back(*one.gpus_w);
  if (!read_w.empty() && read_w.size() == figure.observations.size()) {
    const auto [low, high] = std::ranges::minmax_element(read_w);
    figure.gpus_w = Bounds{*low, *high};
    figure.power_source = "NVML";
    return;
  }
  figure.gpus_w = power_limits_w(node, figure.ranks);
  figure.power_source = figure.gpus_w->high ? "published" : "unknown";
  if (figure.origin == Origin::measured)
    figure.notes.push_back("power was not read in every process: NVML's readings count for steps "
                           "that were measured for a second or longer");
}

void fill_measured(StepFigure& figure, const std::vector<RunPart>& parts) {
  figure.origin = Origin::measured;
  figure.step = parts.front().step;
  figure.samples = parts.front().samples;
  figure.between_runs = parts.size() >= k_least_runs;
  std::vector<double> exposed;
  std::size_t processes = 0;
  const RunPart* largest = &parts.front();
  for (const RunPart& part : parts) {
    figure.synthetic = figure.synthetic || part.synthetic;
    processes += part.processes.size();
    if (part.processes.size() > largest->processes.size())
      largest = &part;
    if (figure.between_runs) {
      figure.observations.push_back(
          {geometric_step_ns(part.processes), mean_power_w(part.processes)});
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
                            .says_batch = workload.batch.has_value()};
  request.say = [&workload](workload::StepRequest& step) {
    step.pattern = workload.pattern;
    step.batch = workload.batch.value_or(step.batch);
    if (workload.type)
      step.type = *workload.type;
  };
  const std::vector<model::Run> also(node.runs.begin() + 1, node.runs.end());
  NCCLPROBE_TRY_ASSIGN(const Prediction prediction, predict(node.runs.front(), request, also));
  const cost_model::Predicted& one = prediction.predicted.front();
  if (!one.why_not.empty())
    return base::fail(base::Errc::not_found, "{}", one.why_not);
  if (!one.step_interval_ns)
    return base::fail(base::Errc::not_found, "predicted as {:.3f} ms, with an unknown error: {}",
                      one.step_ns / 1e6, one.why_no_interval);
  figure.origin = Origin::predicted;
  figure.synthetic = prediction.synthetic;
  figure.source = "predicted from its runs: computing " + prediction.base.source;
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

StepFigure step_figure(const NodeType& node, const Workload& workload) {
  StepFigure figure{.ranks = workload.ranks > 0 ? workload.ranks : node.gpu.count};
  if (auto filled = fill(figure, node, workload); !filled) {
    figure.why_unknown = filled.error().text();
    return figure;
  }
  find_power(figure, node);
  return figure;
}

} // namespace ncclprobe::analysis::procure
