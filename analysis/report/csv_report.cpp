// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/csv_report.h"

#include "analysis/report/heading.h"
#include "analysis/results/bandwidth.h"
#include "analysis/results/conditions.h"
#include "analysis/results/label_key.h"
#include "analysis/step_marks/step_figures.h"
#include "analysis/verdict/verdict.h"
#include "base/csv.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

constexpr std::string_view k_header =
    "synthetic,run_id,backend,trial,replicate,setting,is_default,ranks,workload,size_bytes,type,op,"
    "placement,root,outcome,reason,failed_ranks,batches,time_us,time_min_us,time_max_us,slowest_"
    "rank,"
    "slowest_rank_time_us,algbw_gb_per_s,busbw_gb_per_s,data,checked_elements,wrong_elements,"
    "data_note,variant,timing_mode,p50_us,p90_us,p99_us,max_us,throttle_reasons,checked_launches,"
    "check_method,speed_ratio,speed_ratio_low,speed_ratio_high,adjusted_p,verdict,"
    "step_forward_us,step_backward_us,step_optimizer_us,step_prepare_us,step_communication_us,"
    "step_covered_us,step_uncovered_wait_us,step_uncovered_transfer_us,step_idle_us,"
    "step_uncovered_copy_us,launch_us";

std::string number(std::optional<double> value) {
  return value ? fmt::format("{:.9g}", *value) : "";
}

// The pooled result that each cell of a trial is part of. Points into the results, which must stay.
class PooledResults {
public:
  explicit PooledResults(const std::vector<SettingResult>& results) {
    for (const SettingResult& result : results)
      for (const ProcessTime& process : result.processes)
        by_cell_.emplace(
            Cell{process.trial, key_of(result.label), result.timing_mode, result.setting}, &result);
  }
  // Null if it has none.
  const SettingResult* of(const model::TrialSpec& trial, const model::Cell& cell) const {
    const std::string setting = setting_name(trial, cell);
    auto found = by_cell_.find(Cell{trial.id, key_of(cell.label), cell.timing.mode, setting});
    return found == by_cell_.end() ? nullptr : found->second;
  }

private:
  using Cell = std::tuple<int, LabelKey, model::TimingMode, std::string_view>; // first: the trial
  std::map<Cell, const SettingResult*> by_cell_;
};

// The verdict of the whole setting: the same in the rows of all its processes.
std::vector<std::string> verdict_fields(const Comparison* one) {
  if (!one)
    return {"", "", "", "", ""};
  auto statistic = [](double value) { return fmt::format("{:.6g}", value); };
  return {statistic(one->speed_ratio), one->interval ? statistic(one->interval->low) : "",
          one->interval ? statistic(one->interval->high) : "",
          one->adjusted_p ? statistic(*one->adjusted_p) : "",
          std::string(model::to_string(one->verdict))};
}

// What a step's time went to, by its marks.
std::vector<std::string> step_fields(const TrialSummary& trial, std::size_t c) {
  using steps::StepTimes;
  constexpr std::array k_parts{&StepTimes::forward_ns,       &StepTimes::backward_ns,
                               &StepTimes::optimizer_ns,     &StepTimes::prepare_ns,
                               &StepTimes::communication_ns, &StepTimes::hidden_ns,
                               &StepTimes::exposed_wait_ns,  &StepTimes::exposed_transfer_ns,
                               &StepTimes::idle_ns,          &StepTimes::exposed_copy_ns};
  std::vector<std::string> fields(k_parts.size());
  if (auto figures = trial.steps.find(c); figures != trial.steps.end() && figures->second)
    for (std::size_t i = 0; i < k_parts.size(); ++i)
      fields[i] = number(figures->second->times.*k_parts[i] / 1e3);
  return fields;
}

std::vector<std::string> row(const RunSummary& run, const PooledResults& results,
                             const Verdicts& verdicts, CellPlace place) {
  const model::TrialRecord& trial = run.trials[place.trial];
  const TrialSummary& summary = run.summaries[place.trial];
  const std::size_t c = place.cell;
  const model::Cell& cell = trial.spec.cells[c];
  const model::CellRecord& record = trial.cells[c];
  const model::CellLabel& label = cell.label;
  int ranks = communicator_size(trial.spec, cell);
  std::vector<std::string> fields{is_synthetic(run) ? "true" : "false",
                                  run.header.run_id,
                                  trial.spec.backend,
                                  std::to_string(trial.spec.id),
                                  std::to_string(trial.spec.replicate),
                                  setting_name(trial.spec, cell),
                                  is_default(trial.spec, cell) ? "true" : "false",
                                  std::to_string(ranks),
                                  label.workload,
                                  std::to_string(label.bytes),
                                  std::string(model::to_string(label.type)),
                                  std::string(model::to_string(label.op)),
                                  std::string(model::to_string(label.placement)),
                                  std::to_string(label.root),
                                  std::string(model::to_string(record.outcome.kind)),
                                  record.outcome.reason,
                                  model::format_ranks(record.outcome.ranks)};
  const std::optional<CellTime>& time = summary.cells[c].time;
  if (time) {
    const Summary& batches = time->over_batches_ns;
    auto slowest = slowest_rank(*time->rank_ns);
    auto algbw = cell.timing.mode == model::TimingMode::steps
                     ? std::nullopt
                     : algbw_gb_per_s(label.bytes, batches.median);
    auto factor = busbw_factor(label.workload, ranks);
    fields.insert(fields.end(), {std::to_string(batches.count), number(batches.median / 1e3),
                                 number(batches.min / 1e3), number(batches.max / 1e3),
                                 slowest ? std::to_string(slowest->rank) : "",
                                 slowest ? number(slowest->time_ns / 1e3) : "", number(algbw),
                                 algbw && factor ? number(*factor * *algbw) : ""});
  } else {
    fields.insert(fields.end(), {"0", "", "", "", "", "", "", ""});
  }
  DataState data = data_state(record);
  fields.insert(
      fields.end(),
      {std::string(model::to_string(data)), std::to_string(record.check.elements),
       std::to_string(record.check.wrong),
       data == DataState::unchecked ? record.check.why_unchecked : record.check.first_wrong});
  fields.insert(fields.end(), {label.variant, std::string(model::to_string(cell.timing.mode))});
  if (time && cell.timing.mode == model::TimingMode::latency) {
    Latency latency = latency_of(*time);
    for (double time_ns : {latency.p50_ns, latency.p90_ns, latency.p99_ns, latency.max_ns})
      fields.push_back(number(time_ns / 1e3));
  } else {
    fields.insert(fields.end(), {"", "", "", ""});
  }
  fields.insert(fields.end(), {throttle_text(summary.cells[c].readings.throttle_reasons),
                               std::to_string(record.check.launches), record.check.method});
  const SettingResult* pooled = time ? results.of(trial.spec, cell) : nullptr;
  auto verdict = verdict_fields(pooled ? verdicts.of(*pooled) : nullptr);
  fields.insert(fields.end(), verdict.begin(), verdict.end());
  auto steps = step_fields(summary, c);
  fields.insert(fields.end(), steps.begin(), steps.end());
  fields.push_back(time && time->launch_ns ? number(*time->launch_ns / 1e3) : "");
  return fields;
}

} // namespace

std::string render_csv_report(const RunSummary& run) {
  const auto results = setting_results(run);
  const Verdicts verdicts = judge(results);
  const PooledResults pooled(results);
  std::string out(k_header);
  out += "\r\n";
  for (std::size_t t = 0; t < run.trials.size(); ++t) {
    const model::TrialRecord& trial = run.trials[t];
    if (trial.spec.purpose != model::Purpose::measure)
      continue;
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c)
      out += base::csv_line(row(run, pooled, verdicts, {t, c}));
  }
  return out;
}

} // namespace ncclprobe::analysis
