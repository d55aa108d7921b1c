// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/step_results.h"

#include "workload/tensor_parallel.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::analysis::steps {
namespace {

// Readings of training GPUs while the cell was timed.
std::vector<double> clocks_of(const CellReadings& readings) {
  std::vector<double> clocks_mhz;
  for (const auto& [clock_mhz, count] : readings.step_clocks_mhz)
    clocks_mhz.insert(clocks_mhz.end(), count, clock_mhz);
  return clocks_mhz;
}

// All ranks share the samples of a step, whatever their number.
bool is_strong(const model::StepLabel& step) {
  return step.options.scaling == model::Scaling::strong;
}

void add_process(StepResult& result, std::vector<double>& sm_clock_mhz, const RunSummary& run,
                 const ProcessTime& process) {
  const TrialSummary& summary = run.summaries[process.place.trial];
  const CellReadings& readings = summary.cells[process.place.cell].readings;
  result.most_memory_bytes = std::max(result.most_memory_bytes, readings.step_memory_bytes);
  const std::vector<double> clocks_mhz = clocks_of(readings);
  sm_clock_mhz.insert(sm_clock_mhz.end(), clocks_mhz.begin(), clocks_mhz.end());
  const auto& figures = summary.steps.at(process.place.cell);
  if (figures) {
    result.processes.push_back(
        {process.trial, *figures,
         clocks_mhz.empty() ? std::nullopt : std::optional(median(clocks_mhz))});
    return;
  }
  std::string refusal = fmt::format("trial {}: {}", process.trial, figures.error().text());
  if (std::ranges::find(result.refusals, refusal) == result.refusals.end())
    result.refusals.push_back(std::move(refusal));
}

std::optional<ByKernels> kernels_of(const StepResult& result, const model::Run& run,
                                    const TracedCells& traced) {
  for (const model::TrialRecord& trial : run.trials) {
    const auto cells = traced.find(trial.spec.id);
    if (cells == traced.end())
      continue;
    for (const auto& [index, found] : cells->second)
      if (const auto c = static_cast<std::size_t>(index); c < trial.spec.cells.size())
        if (const model::Cell& cell = trial.spec.cells[c];
            cell.label == result.label && setting_name(trial.spec, cell) == result.setting)
          return found;
  }
  return std::nullopt;
}

// Medians over processes of each bucket; nothing if processes have different buckets.
std::vector<BucketTimes> median_buckets(const std::vector<StepProcess>& processes) {
  std::vector<BucketTimes> out = processes.front().figures.buckets;
  for (const StepProcess& process : processes)
    if (process.figures.buckets.size() != out.size())
      return {};
  for (std::size_t b = 0; b < out.size(); ++b)
    for (auto moment : {&BucketTimes::ready_ns, &BucketTimes::begin_ns, &BucketTimes::end_ns,
                        &BucketTimes::transfer_ns}) {
      std::vector<double> values;
      for (const StepProcess& process : processes)
        values.push_back(process.figures.buckets[b].*moment);
      out[b].*moment = median(std::move(values));
    }
  return out;
}

void finish(StepResult& result) {
  if (result.processes.empty())
    return;
  const double count = static_cast<double>(result.processes.size());
  std::vector<double> steps_ns;
  for (const StepProcess& process : result.processes) {
    const StepFigures& figures = process.figures;
    steps_ns.push_back(figures.times.step_ns);
    StepTimes shares = figures.times;
    shares *= 1 / figures.times.step_ns / count;
    result.times += shares;
    result.stragglers_ns += figures.stragglers_ns / figures.times.step_ns / count;
    for (auto [rank, times] : figures.ranks) {
      times *= 1 / count;
      result.ranks[rank] += times;
    }
  }
  result.interval_ns = median_interval(steps_ns, k_confidence);
  const double step_ns = median(std::move(steps_ns));
  result.times *= step_ns;
  result.stragglers_ns *= step_ns;
  result.buckets = median_buckets(result.processes);
}

} // namespace

const StepProcess* StepResult::process_of(int trial) const {
  auto found = std::ranges::find_if(
      processes, [&](const StepProcess& process) { return process.trial == trial; });
  return found == processes.end() ? nullptr : &*found;
}

std::vector<StepResult> step_results(const RunSummary& run,
                                     const std::vector<SettingResult>& results,
                                     const TracedCells& traced) {
  std::vector<StepResult> out;
  for (const SettingResult& one : results) {
    const auto* step = one.label.step();
    if (!step || !is_step(one))
      continue;
    StepResult result{.pooled = &one,
                      .setting = one.setting,
                      .is_default = one.is_default,
                      .label = one.label,
                      .step = *step,
                      .data = one.data,
                      .throttle_reasons = one.throttle_reasons,
                      .throttled_processes = one.throttled_processes};
    std::vector<double> sm_clock_mhz;
    for (const ProcessTime& process : one.processes)
      add_process(result, sm_clock_mhz, run, process);
    if (!sm_clock_mhz.empty())
      result.sm_clock_mhz = median(std::move(sm_clock_mhz));
    result.by_kernels = kernels_of(result, run, traced);
    if (result.by_kernels)
      result.by_kernels->divide(result.steps_per_launch());
    finish(result);
    out.push_back(std::move(result));
  }
  return out;
}

bool is_step(const SettingResult& result) {
  return result.timing_mode == model::TimingMode::steps;
}

bool same_step(const StepResult& a, const StepResult& b) {
  model::StepLabel other = b.step;
  other.parts = a.step.parts;
  return a.setting == b.setting && a.step == other;
}

bool same_kind(const StepResult& a, const StepResult& b) {
  model::StepLabel other = b.step;
  other.ranks = a.step.ranks;
  other.parts = a.step.parts;
  if (is_strong(a.step))
    other.batch = a.step.batch;
  return a.step == other;
}

double samples_per_step(const model::StepLabel& step) {
  const auto grid = workload::make_rank_grid(step.options, step.ranks);
  return static_cast<double>(step.batch) * (grid ? grid->replicas() : 1);
}

std::string describe_step(const model::StepLabel& step) {
  if (step.options.pattern == model::StepPattern::replay)
    return fmt::format("replay of {}", step.model);
  std::string text = fmt::format(
      "{} {}, {}, batch {}", to_string(step.options.pattern), step.model,
      to_string(data_type(step.options.type)),
      is_strong(step) ? fmt::format("{:.0f} shared by all ranks", samples_per_step(step))
                      : std::to_string(step.batch));
  if (step.sequence > 0)
    text += fmt::format(", sequence {}", step.sequence);
  if (const auto words = step.options.words(); !words.empty())
    text += fmt::format(", {}", fmt::join(words, " "));
  return text;
}

std::string describe_step(const StepResult& result) {
  return describe_step(result.step);
}

} // namespace ncclprobe::analysis::steps
