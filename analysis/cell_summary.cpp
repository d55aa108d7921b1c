// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cell_summary.h"

#include "analysis/bandwidth.h"
#include "analysis/conditions.h"
#include "analysis/loaded_libraries.h"
#include "analysis/worker_cpus.h"
#include "base/add_once.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

using model::CellLabel;

// Everything that makes two cells the same measurement, the display name included.
std::string settings_identity(const model::TrialSpec& trial, const model::Cell& cell) {
  std::string identity = setting_name(trial, cell) + '\n' + model::label_of(trial.process.common);
  for (const auto& [rank, settings] : trial.process.per_rank)
    identity += fmt::format("\n{} {}", rank, model::label_of(settings));
  return identity + '\n' + model::label_of(cell.settings) + '\n' + model::label_of(trial.libraries);
}

// Collectives first, in the model's order; then the rest as they appear in the run.
class WorkloadOrder {
public:
  WorkloadOrder() {
    for (const auto& [value, name] : enum_names(model::Collective{}))
      place(std::string(name));
  }
  std::size_t place(const std::string& workload) {
    auto found = std::find(names_.begin(), names_.end(), workload);
    if (found == names_.end())
      found = names_.insert(names_.end(), workload);
    return static_cast<std::size_t>(found - names_.begin());
  }

private:
  std::vector<std::string> names_;
};

struct Group {
  SettingResult result;
  std::map<int, std::vector<model::Sample>> samples; // by trial
  std::map<int, int> replicates;                     // by trial
  std::map<int, std::uint64_t> throttle_reasons;     // by trial
};

void add_cell(Group& group, const model::TrialRecord& trial, const model::CellRecord& record) {
  // The same cell twice in one trial is one process with more batches.
  auto& samples = group.samples[trial.spec.id];
  std::int32_t first_batch = 0;
  for (const auto& sample : samples)
    first_batch = std::max(first_batch, sample.batch + 1);
  for (model::Sample sample : record.samples) {
    sample.batch += first_batch;
    samples.push_back(sample);
  }
  group.replicates[trial.spec.id] = trial.spec.replicate;
  group.throttle_reasons[trial.spec.id] |= throttle_reasons(record);

  SettingResult& result = group.result;
  DataState state = data_state(record);
  result.data = std::max(result.data, state);
  if (state == DataState::checked) {
    result.checked_elements += record.check.elements;
    result.checked_launches += record.check.launches;
    base::add_once(result.check_methods, record.check.method);
  }
  std::string note = state == DataState::checked     ? ""
                     : state == DataState::unchecked ? record.check.why_unchecked
                     : record.check.wrong == 0
                         ? record.outcome.reason
                         : fmt::format("{} of {} elements wrong, {}", record.check.wrong,
                                       record.check.elements, record.check.first_wrong);
  base::add_once(result.data_notes, std::move(note));
}

Latency over_processes(const std::vector<ProcessTime>& processes) {
  std::vector<double> p50_ns, p90_ns, p99_ns;
  Latency all;
  for (const ProcessTime& process : processes) {
    Latency one = latency_of(process.time);
    p50_ns.push_back(one.p50_ns);
    p90_ns.push_back(one.p90_ns);
    p99_ns.push_back(one.p99_ns);
    all.max_ns = std::max(all.max_ns, one.max_ns);
    all.launches += one.launches;
  }
  all.p50_ns = median(std::move(p50_ns));
  all.p90_ns = median(std::move(p90_ns));
  all.p99_ns = median(std::move(p99_ns));
  return all;
}

void finish(SettingResult& result) {
  std::vector<double> medians_ns, launch_ns;
  std::map<int, std::vector<double>> by_rank_ns;
  for (const ProcessTime& process : result.processes) {
    medians_ns.push_back(process.time.over_batches_ns.median);
    for (const auto& [rank, time_ns] : process.time.rank_ns)
      by_rank_ns[rank].push_back(time_ns);
    if (process.time.launch_ns)
      launch_ns.push_back(*process.time.launch_ns);
    result.throttled_processes += process.throttle_reasons != 0;
    result.throttle_reasons |= process.throttle_reasons;
  }
  if (result.timing_mode == model::TimingMode::latency)
    result.latency = over_processes(result.processes);
  if (!launch_ns.empty())
    result.launch_ns = median(std::move(launch_ns));
  Summary of_processes = summarise(medians_ns);
  result.time_ns = of_processes.median;
  result.interval_ns = median_interval(medians_ns, k_confidence);

  bool several = of_processes.count > 1;
  const Summary& spread = several ? of_processes : result.processes.front().time.over_batches_ns;
  result.spread_over = several            ? SettingResult::SpreadOver::processes
                       : spread.count > 1 ? SettingResult::SpreadOver::batches
                                          : SettingResult::SpreadOver::nothing;
  result.spread_count = static_cast<int>(spread.count);
  result.lowest_ns = spread.min;
  result.highest_ns = spread.max;
  result.spread_percent = spread.range_percent();

  if (result.timing_mode != model::TimingMode::steps) // most of a step moves nothing
    result.algbw_gb_per_s = algbw_gb_per_s(result.label.bytes, result.time_ns);
  auto factor = busbw_factor(result.label.workload, result.ranks);
  if (factor && result.algbw_gb_per_s)
    result.busbw_gb_per_s = *factor * *result.algbw_gb_per_s;

  std::map<int, double> rank_ns;
  for (auto& [rank, times_ns] : by_rank_ns)
    rank_ns[rank] = median(std::move(times_ns));
  result.slowest = slowest_rank(rank_ns);
}

} // namespace

std::optional<CellTime> cell_time(const std::vector<model::Sample>& samples) {
  std::set<int> ranks;
  std::map<int, std::map<int, double>> batches; // time per operation by batch, rank
  std::map<int, std::vector<double>> launches;  // the host's of these, by batch
  for (const model::Sample& sample : samples) {
    if (sample.iterations <= 0)
      continue;
    ranks.insert(sample.rank);
    batches[sample.batch][sample.rank] =
        static_cast<double>(sample.elapsed_ns) / static_cast<double>(sample.iterations);
    if (sample.launch_ns >= 0)
      launches[sample.batch].push_back(static_cast<double>(sample.launch_ns) / sample.iterations);
  }
  CellTime time;
  std::map<int, std::vector<double>> by_rank_ns;
  std::vector<double> launch_ns;
  for (const auto& [batch, rank_ns] : batches) {
    if (rank_ns.size() != ranks.size())
      continue;
    if (const std::vector<double>& of_ranks = launches[batch]; of_ranks.size() == ranks.size())
      launch_ns.push_back(std::accumulate(of_ranks.begin(), of_ranks.end(), 0.0) /
                          static_cast<double>(of_ranks.size()));
    double sum_ns = 0;
    for (const auto& [rank, time_ns] : rank_ns) {
      sum_ns += time_ns;
      by_rank_ns[rank].push_back(time_ns);
    }
    time.batch_ns.push_back(sum_ns / static_cast<double>(rank_ns.size()));
  }
  if (time.batch_ns.empty())
    return std::nullopt;
  time.over_batches_ns = summarise(time.batch_ns);
  if (!launch_ns.empty())
    time.launch_ns = median(std::move(launch_ns));
  for (auto& [rank, times_ns] : by_rank_ns)
    time.rank_ns[rank] = median(std::move(times_ns));
  return time;
}

Latency latency_of(const CellTime& time) {
  return {.p50_ns = time.over_batches_ns.median,
          .p90_ns = quantile(time.batch_ns, 0.9),
          .p99_ns = quantile(time.batch_ns, 0.99),
          .max_ns = time.over_batches_ns.max,
          .launches = time.batch_ns.size()};
}

std::optional<SlowestRank> slowest_rank(const std::map<int, double>& rank_ns) {
  auto by_time = [](const auto& a, const auto& b) { return a.second < b.second; };
  if (rank_ns.size() < 2)
    return std::nullopt;
  auto slowest = std::max_element(rank_ns.begin(), rank_ns.end(), by_time);
  auto fastest = std::min_element(rank_ns.begin(), rank_ns.end(), by_time);
  if (slowest->second == fastest->second)
    return std::nullopt;
  return SlowestRank{slowest->first, slowest->second};
}

int communicator_size(const model::TrialSpec& trial, const model::Cell& cell) {
  const model::Schedule& schedule = cell.schedule;
  auto ranks_of = [&](int communicator) {
    if (communicator < 0 || communicator >= static_cast<int>(schedule.communicators.size()))
      return trial.ranks;
    const auto& ranks = schedule.communicators[static_cast<std::size_t>(communicator)].ranks;
    return ranks.empty() ? trial.ranks : static_cast<int>(ranks.size());
  };
  for (int i = std::max(schedule.timed.first, 0);
       i < std::min(schedule.timed.last, static_cast<int>(schedule.operations.size())); ++i) {
    const auto& what = schedule.operations[static_cast<std::size_t>(i)].what;
    int communicator = -1;
    if (auto* collective = std::get_if<model::CollectiveOp>(&what))
      communicator = collective->communicator;
    else if (auto* send = std::get_if<model::SendOp>(&what))
      communicator = send->communicator;
    else
      continue;
    return ranks_of(communicator);
  }
  // All in one rank, and so by copies; or no communication at all.
  return schedule.checks.empty() ? trial.ranks : ranks_of(schedule.checks.front().communicator);
}

DataState data_state(const model::CellRecord& record) {
  if (record.outcome.kind == model::OutcomeKind::wrong_data || record.check.wrong > 0)
    return DataState::wrong;
  return record.check.kind == model::CheckResult::Kind::checked ? DataState::checked
                                                                : DataState::unchecked;
}

bool is_measured(const model::CellRecord& record) {
  return record.outcome.ok() || record.outcome.kind == model::OutcomeKind::wrong_data;
}

std::string setting_name(const model::TrialSpec& trial, const model::Cell& cell) {
  std::string process = trial.label();
  if (cell.settings.empty())
    return process;
  std::string in_process = model::label_of(cell.settings);
  return process == "default" ? in_process : process + " " + in_process;
}

bool is_default(const model::TrialSpec& trial, const model::Cell& cell) {
  return cell.settings.empty() && trial.is_default();
}

std::vector<double> process_times_ns(const SettingResult& result) {
  std::vector<double> times_ns;
  for (const ProcessTime& process : result.processes)
    times_ns.push_back(process.time.over_batches_ns.median);
  return times_ns;
}

bool has_times(const SettingResult& result) {
  return std::ranges::all_of(process_times_ns(result), [](double time_ns) { return time_ns > 0; });
}

std::vector<SettingResult> setting_results(const model::Run& run, model::Purpose purpose) {
  WorkloadOrder order;
  using Key = std::tuple<std::size_t, model::DataType, model::ReduceOp, int, int, std::string,
                         model::TimingMode, std::uint64_t, model::Placement, bool, std::string,
                         std::string>;
  std::map<Key, Group> groups;
  for (const model::TrialRecord& trial : run.trials) {
    if (trial.spec.purpose != purpose)
      continue;
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
      const model::Cell& cell = trial.spec.cells[c];
      if (!is_measured(trial.cells[c]))
        continue;
      const CellLabel& label = cell.label;
      std::string name = setting_name(trial.spec, cell);
      bool by_default = is_default(trial.spec, cell);
      int ranks = communicator_size(trial.spec, cell);
      Key key{order.place(label.workload),
              label.type,
              label.op,
              label.root,
              ranks,
              label.variant,
              cell.timing.mode,
              label.bytes,
              label.placement,
              !by_default,
              name,
              settings_identity(trial.spec, cell)};
      Group& group = groups[key];
      group.result.setting = name;
      group.result.settings = trial.spec.under_test();
      group.result.settings.insert(group.result.settings.end(), cell.settings.begin(),
                                   cell.settings.end());
      group.result.is_default = by_default;
      group.result.label = label;
      group.result.timing_mode = cell.timing.mode;
      group.result.ranks = ranks;
      if (group.result.not_as_asked.empty())
        group.result.not_as_asked = library_problem(trial);
      if (group.result.not_as_asked.empty())
        group.result.not_as_asked = cpu_problem(trial);
      add_cell(group, trial, trial.cells[c]);
    }
  }
  std::vector<SettingResult> results;
  for (auto& [key, group] : groups) {
    for (const auto& [trial, samples] : group.samples)
      if (auto time = cell_time(samples))
        group.result.processes.push_back(
            {trial, group.replicates[trial], std::move(*time), group.throttle_reasons[trial]});
    if (group.result.processes.empty())
      continue; // ended ok, but left no sample
    finish(group.result);
    results.push_back(std::move(group.result));
  }
  return results;
}

} // namespace ncclprobe::analysis
