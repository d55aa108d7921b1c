// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/json_report.h"

#include "analysis/report/cpu_section.h"
#include "analysis/report/heading.h"
#include "analysis/report/json_values.h"
#include "analysis/report/library_section.h"
#include "analysis/report/nccl_section.h"
#include "analysis/report/power_section.h"
#include "analysis/report/price_section.h"
#include "analysis/report/proof_section.h"
#include "analysis/report/saturation_section.h"
#include "analysis/report/step_json.h"
#include "analysis/report/traffic_section.h"
#include "analysis/report/verdict_section.h"
#include "analysis/results/conditions.h"
#include "analysis/survey/memory_split.h"
#include "analysis/verdict/tracing_cost.h"
#include "model/document.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using Json = nlohmann::ordered_json; // fields in the order written below

Json microseconds(const std::vector<double>& values_ns) {
  Json out = Json::array();
  for (double value_ns : values_ns)
    out.push_back(value_ns / 1e3);
  return out;
}

Json settings_json(const std::vector<model::Setting>& settings) {
  Json out = Json::array();
  for (const auto& setting : settings)
    out.push_back({{"name", setting.name}, {"value", setting.value}});
  return out;
}

Json label_json(const model::CellLabel& label) {
  return {{"workload", label.workload},
          {"size_bytes", label.bytes},
          {"type", model::to_string(label.type)},
          {"op", model::to_string(label.op)},
          {"placement", model::to_string(label.placement)},
          {"root", label.root},
          {"variant", label.variant}};
}

// Of each cell that was also measured in traced trials.
Json tracing_cost_json(const TracingCost& cost) {
  Json out = label_json(cost.traced.label);
  out["setting"] = cost.traced.setting;
  out["traced_us"] = cost.traced.time_ns / 1e3;
  out["traced_processes"] = cost.traced.processes.size();
  out["untraced_processes"] = cost.untraced_processes;
  out["time_ratio"] = rounded(cost.ratio);
  out["interval"] =
      cost.test ? Json({rounded(cost.test->interval.low), rounded(cost.test->interval.high)})
                : Json(nullptr);
  out["too_few_processes"] = cost.too_few_processes;
  return out;
}

Json outcome_json(const model::Outcome& outcome) {
  return {{"outcome", model::to_string(outcome.kind)},
          {"reason", outcome.reason},
          {"failed_ranks", outcome.ranks}};
}

Json range_json(const Range& range) {
  return range ? Json{range->first, range->second} : Json(nullptr);
}

// Null without readings.
Json conditions_json(const RunSummary& run) {
  ConditionSummary summary = summarise_conditions(run);
  if (summary.cells == 0)
    return nullptr;
  Json memory_errors = Json::array();
  for (const auto& [rank, errors] : summary.memory_errors)
    memory_errors.push_back(
        {{"rank", rank}, {"corrected", errors.corrected}, {"uncorrected", errors.uncorrected}});
  return {{"sm_clock_mhz", range_json(summary.sm_clock_mhz)},
          {"temperature_c", range_json(summary.temperature_c)},
          {"power_mw", range_json(summary.power_mw)},
          {"throttle_reasons", summary.throttle_reasons
                                   ? Json(throttle_text(*summary.throttle_reasons))
                                   : Json(nullptr)},
          {"cells", summary.cells},
          {"throttled_cells", summary.throttled_cells},
          {"shared_ranks", summary.shared_ranks},
          {"shared_cells", summary.shared_cells},
          {"counted_cells", summary.counted_cells},
          {"memory_errors", memory_errors}};
}

// Of each setting and rank; what could not be told apart is null.
Json memory_json(const model::Run& run) {
  auto bytes = [](const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json out = Json::array();
  for (const MemorySplit& one : memory_splits(run))
    out.push_back({{"setting", one.setting},
                   {"rank", one.rank},
                   {"context_bytes", bytes(one.context_bytes)},
                   {"connecting_bytes", bytes(one.connecting_bytes)},
                   {"buffer_bytes", one.buffer_bytes},
                   {"launching_bytes", bytes(one.launching_bytes)}});
  return out;
}

// What ranks have otherwise than rank 0's environment; null: not set.
Json environment_of_ranks_json(const model::RunHeader& header) {
  Json out = Json::array();
  for (const model::RankVariable& variable : header.environment_of_ranks)
    out.push_back({{"ranks", variable.ranks},
                   {"name", variable.name},
                   {"value", variable.value ? Json(*variable.value) : Json(nullptr)}});
  return out;
}

Json run_json(const RunSummary& run) {
  const model::RunHeader& header = run.header;
  Json hosts = Json::array();
  for (const model::Host& host : header.hosts)
    hosts.push_back(Json(base::json_tree(base::writable(host))));
  Json ranks = Json::array();
  for (const model::RankPlace& place : header.ranks)
    ranks.push_back({{"rank", place.rank}, {"host", place.host}, {"device", place.device}});
  Json out{{"run_id", header.run_id},
           {"started_utc", header.started_utc},
           {"ncclprobe_version", header.ncclprobe_version},
           {"mpi_version", header.mpi_version},
           {"argv", header.argv},
           {"seed", header.seed},
           {"backend", header.backend},
           {"backend_reason", header.backend_reason},
           {"environment", settings_json(header.environment)},
           {"pinned", settings_json(header.pinned)},
           {"planned_trials", header.planned_trials},
           {"finished_trials", run.trials.size()},
           {"complete", static_cast<int>(run.trials.size()) >= header.planned_trials},
           {"conditions", conditions_json(run)},
           {"ranks", ranks},
           {"hosts", hosts}};
  if (!header.environment_of_ranks.empty())
    out["environment_of_ranks"] = environment_of_ranks_json(header);
  return out;
}

Json comparison_json(const SettingResult& result, const Verdicts& verdicts) {
  const Comparison* one = verdicts.of(result);
  if (!one)
    return nullptr;
  const SettingResult& baseline = *one->baseline;
  return {{"speed_ratio", rounded(one->speed_ratio)},
          {"lowest_speed_ratio", baseline.lowest_ns / result.highest_ns},
          {"highest_speed_ratio", baseline.highest_ns / result.lowest_ns},
          {"within_spread",
           baseline.lowest_ns <= result.highest_ns && result.lowest_ns <= baseline.highest_ns},
          {"verdict", model::to_string(one->verdict)},
          {"why_not_decided", one->why_not_decided},
          {"interval", rounded_interval(one->interval)},
          {"p", rounded(one->p)},
          {"adjusted_p", rounded(one->adjusted_p)},
          {"detectable_speed_ratio", rounded(one->detectable)},
          {"processes", result.processes.size()},
          {"default_processes", baseline.processes.size()},
          {"throttled", one->throttled}};
}

// What holds for all comparisons of the run.
Json verdicts_json(const RunSummary& run, const std::vector<SettingResult>& results,
                   const Verdicts& verdicts) {
  static constexpr std::array<std::string_view, k_size_classes> k_classes{"to_64K", "to_4M",
                                                                          "above_4M"};
  auto settings = setting_verdicts(results, verdicts);
  Json sums = Json::array();
  for (const SettingVerdict& one : settings)
    sums.push_back({{"setting", one.setting},
                    {"better", one.better},
                    {"worse", one.worse},
                    {"no_difference", one.no_difference},
                    {"not_decided", one.not_decided},
                    {"too_noisy", one.too_noisy},
                    {"wrong_data", one.wrong},
                    {"cells", one.cells()}});
  Json floors = Json::array();
  for (std::size_t c = 0; c < k_size_classes; ++c)
    if (const auto& floor = verdicts.floors[c])
      floors.push_back(
          {{"sizes", k_classes[c]}, {"ratio", rounded(floor->ratio)}, {"cells", floor->cells}});
  Json arms = Json::array();
  for (const ArmComparison& one : verdicts.arms) {
    Json cell = label_json(one.result->label);
    cell["ratio"] = rounded(one.test.ratio);
    cell["interval"] = rounded_interval(one.test.interval);
    arms.push_back(std::move(cell));
  }
  return {{"answer", answer_text(settings, verdicts)},
          {"advice", noise_advice(run, results, verdicts)},
          {"test", "Welch's t-test on logarithms of process medians, also with the typical scatter "
                   "of the cell and of the size class: the largest p, the widest interval"},
          {"correction", "Holm"},
          {"alpha", k_alpha},
          {"confidence", k_confidence},
          {"least_processes", k_least_processes},
          {"largest_missed_ratio", k_largest_missed_ratio},
          {"tested", verdicts.tested},
          {"settings", std::move(sums)},
          {"noise_floor", std::move(floors)},
          {"lowest_default_arms_p", rounded(verdicts.lowest_arms_p)},
          {"default_arms", std::move(arms)}};
}

Json latency_json(const Latency& latency) {
  return {{"p50_us", latency.p50_ns / 1e3},
          {"p90_us", latency.p90_ns / 1e3},
          {"p99_us", latency.p99_ns / 1e3},
          {"max_us", latency.max_ns / 1e3},
          {"launches", latency.launches}};
}

Json process_json(const ProcessTime& process) {
  return {{"trial", process.trial},
          {"replicate", process.replicate},
          {"time_us", process.time.over_batches_ns.median / 1e3},
          {"throttle_reasons", throttle_text(process.throttle_reasons)},
          {"batch_time_us", microseconds(process.time.batch_ns)}};
}

std::string_view spread_over_text(SettingResult::SpreadOver spread_over) {
  switch (spread_over) {
  case SettingResult::SpreadOver::processes:
    return "processes";
  case SettingResult::SpreadOver::batches:
    return "batches";
  case SettingResult::SpreadOver::nothing:
    return "nothing";
  }
  return "nothing";
}

Json result_json(const SettingResult& result, const Verdicts& verdicts, const model::Run& run) {
  Json out{{"synthetic", is_synthetic(run)},
           {"setting", result.setting},
           {"settings", settings_json(result.settings)},
           {"is_default", result.is_default},
           {"ranks", result.ranks}};
  out.update(label_json(result.label));
  out.update(Json{{"timing_mode", model::to_string(result.timing_mode)},
                  {"time_us", result.time_ns / 1e3},
                  {"time_min_us", result.lowest_ns / 1e3},
                  {"time_max_us", result.highest_ns / 1e3},
                  {"time_interval_us", rounded_interval(result.interval_ns, 1e3)},
                  {"spread_percent", nullable(result.spread_percent)},
                  {"spread_over", spread_over_text(result.spread_over)},
                  {"spread_count", result.spread_count},
                  {"algbw_gb_per_s", nullable(result.algbw_gb_per_s)},
                  {"busbw_gb_per_s", nullable(result.busbw_gb_per_s)},
                  {"slowest_rank", result.slowest ? Json(result.slowest->rank) : Json(nullptr)},
                  {"slowest_rank_time_us",
                   result.slowest ? Json(result.slowest->time_ns / 1e3) : Json(nullptr)},
                  {"latency", result.latency ? latency_json(*result.latency) : Json(nullptr)},
                  {"launch_us", result.launch_ns ? Json(*result.launch_ns / 1e3) : Json(nullptr)},
                  {"throttled_processes", result.throttled_processes},
                  {"throttle_reasons", throttle_text(result.throttle_reasons)},
                  {"data", model::to_string(result.data)},
                  {"data_notes", result.data_notes},
                  {"checked_launches", result.checked_launches},
                  {"check_methods", result.check_methods},
                  {"against_default", comparison_json(result, verdicts)}});
  Json processes = Json::array();
  for (const ProcessTime& process : result.processes)
    processes.push_back(process_json(process));
  out["processes"] = std::move(processes);
  return out;
}

// Null for a trial in which all went well.
Json problem_json(const model::TrialRecord& trial, const model::Run& run) {
  Json cells = Json::array();
  for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
    const model::CellRecord& record = trial.cells[c];
    if (record.outcome.ok())
      continue;
    Json cell = label_json(trial.spec.cells[c].label);
    cell["setting"] = setting_name(trial.spec, trial.spec.cells[c]);
    cell.update(outcome_json(record.outcome));
    cell["checked_elements"] = record.check.elements;
    cell["wrong_elements"] = record.check.wrong;
    cell["first_wrong"] = record.check.first_wrong;
    cells.push_back(std::move(cell));
  }
  if (trial.outcome.ok() && cells.empty())
    return nullptr;
  Json workers = Json::array();
  for (const model::WorkerRecord& worker : trial.workers)
    workers.push_back({{"ranks", worker.ranks},
                       {"host", worker.host},
                       {"pid", worker.pid},
                       {"last_phase", worker.last_phase},
                       {"last_cell", worker.last_cell},
                       {"exit", worker.exit},
                       {"output_tail", worker.output_tail}});
  Json out{{"synthetic", is_synthetic(run)},
           {"trial", trial.spec.id},
           {"replicate", trial.spec.replicate},
           {"setting", trial.spec.label()}};
  out.update(outcome_json(trial.outcome));
  out["cells"] = std::move(cells);
  out["workers"] = std::move(workers);
  return out;
}

} // namespace

std::string render_json_report(const RunSummary& run, std::optional<double> price_per_gpu,
                               const steps::TracedCells& traced) {
  const auto results = setting_results(run);
  const Verdicts verdicts = judge(results);
  Json out{{"schema", "ncclprobe.report"},
           {"version", k_json_report_version},
           {"synthetic", is_synthetic(run)},
           {"run", run_json(run)},
           {"verdicts", verdicts_json(run, results, verdicts)},
           {"results", Json::array()},
           {"problems", Json::array()}};
  for (const SettingResult& result : results)
    out["results"].push_back(result_json(result, verdicts, run));
  for (const model::TrialRecord& trial : run.trials)
    if (Json problem = problem_json(trial, run); !problem.is_null())
      out["problems"].push_back(std::move(problem));
  if (Json saturation = saturation_json(results); !saturation.empty())
    out["saturation"] = std::move(saturation);
  if (Json power = power_json(run, results); !power.empty())
    out["power"] = std::move(power);
  if (price_per_gpu)
    out["price"] = prices_json(run, results, *price_per_gpu);
  if (Json libraries = libraries_json(run); !libraries.empty())
    out["libraries"] = std::move(libraries);
  if (Json memory = memory_json(run); !memory.empty())
    out["memory"] = std::move(memory);
  if (Json traffic = traffic_json(run); !traffic.empty())
    out["link_traffic"] = std::move(traffic);
  if (Json cpus = cpus_json(run); !cpus.empty())
    out["cpus"] = std::move(cpus);
  if (Json proof = proof_json(run); !proof.empty())
    out["proof"] = std::move(proof);
  if (Json nccl = nccl_predictions_json(run, results, verdicts); !nccl.empty())
    out["nccl_predictions"] = std::move(nccl);
  if (Json steps = steps_json(run, results, traced); !steps.is_null())
    out.update(steps);
  for (const TracingCost& cost : tracing_costs(run))
    out["tracing_cost"].push_back(tracing_cost_json(cost));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::analysis
