// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/cell_summary.h"

#include "analysis/results/bandwidth.h"
#include "analysis/results/loaded_libraries.h"
#include "analysis/results/worker_cpus.h"
#include "base/add_once.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ncclprobe::analysis {
namespace {

using model::CellLabel;

// Common parts of all cells of a trial, built once because they are long with many ranks.
struct TrialFacts {
  explicit TrialFacts(const model::TrialRecord& trial)
      : common(model::label_of(trial.spec.process.common)),
        libraries(model::label_of(trial.spec.libraries)), not_as_asked(library_problem(trial)) {
    for (const auto& [rank, settings] : trial.spec.process.per_rank)
      common += fmt::format("\n{} {}", rank, model::label_of(settings));
    if (not_as_asked.empty())
      not_as_asked = cpu_problem(trial);
  }
  std::string common; // settings of the process
  std::string libraries;
  std::string not_as_asked;
};

// All fields that identify a measurement, including the display name.
std::string settings_identity(const std::string& name, const TrialFacts& trial,
                              const model::Cell& cell) {
  return fmt::format("{}\n{}\n{}\n{}", name, trial.common, model::label_of(cell.settings),
                     trial.libraries);
}

// Collectives first, in the model's order; then the rest as they appear in the run.
class WorkloadOrder {
public:
  WorkloadOrder() {
    for (const auto& [value, name] : enum_names(model::Collective{}))
      place(std::string(name));
  }
  std::size_t place(const std::string& workload) {
    auto found = std::ranges::find(names_, workload);
    if (found == names_.end())
      found = names_.insert(names_.end(), workload);
    return static_cast<std::size_t>(found - names_.begin());
  }

private:
  std::vector<std::string> names_;
};

struct Group {
  SettingResult result;
  std::optional<std::size_t> last_trial; // in the run, that measured it
};

void add_time(Group& group, const RunSummary& run, CellPlace place) {
  const model::TrialSpec& spec = run.trials[place.trial].spec;
  const TrialSummary& summary = run.summaries[place.trial];
  const CellSummary& cell = summary.cells[place.cell];
  std::vector<ProcessTime>& processes = group.result.processes;
  if (std::exchange(group.last_trial, place.trial) != place.trial) {
    auto repeated = summary.repeated.find(place.cell);
    const std::optional<CellTime>& time =
        repeated == summary.repeated.end() ? cell.time : repeated->second;
    if (time)
      processes.push_back({spec.id, spec.replicate, *time, 0, {}, place});
  }
  if (!processes.empty() && processes.back().place.trial == place.trial) {
    processes.back().throttle_reasons |= cell.readings.throttle_reasons;
    if (cell.time)
      processes.back().each_ns.push_back(cell.time->over_batches_ns.median);
  }
}

void add_data(Group& group, const model::CellRecord& record) {
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

// For each rank, over the processes that have it.
RankValues median_rank_ns(const std::vector<ProcessTime>& processes) {
  RankValues medians_ns;
  std::vector<std::size_t> next(processes.size()); // by process, of its ranks
  std::vector<double> of_rank_ns;
  for (;;) {
    std::optional<int> rank; // the lowest that remains
    for (std::size_t p = 0; p < processes.size(); ++p)
      if (const RankValues& times = *processes[p].time.rank_ns; next[p] < times.size())
        rank = std::min(rank.value_or(times.rank(next[p])), times.rank(next[p]));
    if (!rank)
      return medians_ns;
    of_rank_ns.clear();
    for (std::size_t p = 0; p < processes.size(); ++p)
      if (const RankValues& times = *processes[p].time.rank_ns;
          next[p] < times.size() && times.rank(next[p]) == *rank)
        of_rank_ns.push_back(times.value(next[p]++));
    medians_ns.add(*rank, median_in_place(of_rank_ns));
  }
}

void finish(SettingResult& result) {
  std::vector<double> medians_ns, launch_ns;
  for (const ProcessTime& process : result.processes) {
    medians_ns.push_back(process.time.over_batches_ns.median);
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

  if (result.timing_mode != model::TimingMode::steps) // most of a step moves no data
    result.algbw_gb_per_s = algbw_gb_per_s(result.label.bytes, result.time_ns);
  auto factor = busbw_factor(result.label, result.ranks);
  if (factor && result.algbw_gb_per_s)
    result.busbw_gb_per_s = *factor * *result.algbw_gb_per_s;

  result.slowest = slowest_rank(median_rank_ns(result.processes));
}

} // namespace

int communicator_size(const model::TrialSpec& trial, const model::Cell& cell) {
  const model::Schedule& schedule = cell.schedule;
  auto ranks_of = [&](int communicator) {
    if (communicator < 0 || communicator >= std::ssize(schedule.communicators))
      return trial.ranks;
    const auto& ranks = schedule.communicators[communicator].ranks;
    return ranks.empty() ? trial.ranks : static_cast<int>(ranks.size());
  };
  for (int i = std::max(schedule.timed.first, 0);
       i < std::min(schedule.timed.last, static_cast<int>(schedule.operations.size())); ++i) {
    const auto& what = schedule.operations[i].what;
    int communicator = -1;
    if (auto* collective = std::get_if<model::CollectiveOp>(&what))
      communicator = collective->communicator;
    else if (auto* send = std::get_if<model::SendOp>(&what))
      communicator = send->communicator;
    else
      continue;
    return ranks_of(communicator);
  }
  // All work of one rank, which copies suffice for; or no communication at all.
  return schedule.checks.empty() ? trial.ranks : ranks_of(schedule.checks.front().communicator);
}

DataState data_state(const model::CellRecord& record) {
  if (record.outcome.kind == model::OutcomeKind::wrong_data || record.check.wrong > 0)
    return DataState::wrong;
  return record.check.checked ? DataState::checked : DataState::unchecked;
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

std::vector<SettingResult> setting_results(const RunSummary& run, model::Purpose purpose) {
  WorkloadOrder order;
  using Key = std::tuple<std::size_t, model::DataType, model::ReduceOp, int, int, std::string,
                         model::TimingMode, std::uint64_t, model::Placement, bool, std::string,
                         std::string>;
  std::map<Key, Group> groups;
  for (std::size_t t = 0; t < run.trials.size(); ++t) {
    const model::TrialRecord& trial = run.trials[t];
    if (trial.spec.purpose != purpose)
      continue;
    const TrialFacts facts(trial);
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
      const model::Cell& cell = trial.spec.cells[c];
      if (!is_measured(trial.cells[c]))
        continue;
      const CellLabel& label = cell.label;
      std::string name = setting_name(trial.spec, cell);
      bool by_default = is_default(trial.spec, cell);
      int ranks = communicator_size(trial.spec, cell);
      Key key{order.place(label.workload()),
              label.type,
              label.op,
              label.root,
              ranks,
              label.variant(),
              cell.timing.mode,
              label.bytes,
              label.placement,
              !by_default,
              name,
              settings_identity(name, facts, cell)};
      auto [place, is_new] = groups.try_emplace(std::move(key));
      Group& group = place->second;
      if (is_new) {
        group.result.setting = name;
        group.result.settings = trial.spec.under_test();
        group.result.settings.insert(group.result.settings.end(), cell.settings.begin(),
                                     cell.settings.end());
        group.result.is_default = by_default;
        group.result.in_process = !cell.settings.empty();
        group.result.label = label;
        group.result.timing_mode = cell.timing.mode;
        group.result.ranks = ranks;
      }
      if (group.result.not_as_asked.empty())
        group.result.not_as_asked = facts.not_as_asked;
      add_time(group, run, {t, c});
      add_data(group, trial.cells[c]);
    }
  }
  std::vector<SettingResult> results;
  for (auto& [key, group] : groups) {
    if (group.result.processes.empty())
      continue; // ended ok, but left no sample
    std::ranges::stable_sort(group.result.processes, {}, &ProcessTime::trial);
    finish(group.result);
    results.push_back(std::move(group.result));
  }
  return results;
}

} // namespace ncclprobe::analysis
