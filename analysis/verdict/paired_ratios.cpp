// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/paired_ratios.h"

#include "analysis/verdict/size_class.h"
#include "analysis/verdict/typical_scatter.h"

namespace ncclprobe::analysis {
namespace {

using CellKey = std::tuple<model::CellLabel, int, model::TimingMode>;

CellKey cell_of(const SettingResult& result) {
  return {result.label, result.ranks, result.timing_mode};
}

template <class Key>
std::map<Key, LogScatter> typical_of_each(const std::map<Key, std::vector<LogScatter>>& scatters) {
  std::map<Key, LogScatter> out;
  for (const auto& [key, of_key] : scatters)
    out.emplace(key, typical(of_key));
  return out;
}

template <class Key>
std::optional<LogScatter> found_in(const std::map<Key, LogScatter>& scatters, const Key& key) {
  auto found = scatters.find(key);
  return found == scatters.end() ? std::nullopt : std::optional(found->second);
}

// A time of 0 makes no ratio.
void add_ratio(std::vector<double>& ratios, double over_ns, double under_ns) {
  if (over_ns > 0 && under_ns > 0)
    ratios.push_back(over_ns / under_ns);
}

} // namespace

std::vector<double> paired_ratios(const SettingResult& baseline, const SettingResult& setting) {
  std::vector<double> ratios;
  if (!setting.in_process)
    return ratios;
  auto by_default = baseline.processes.begin();
  for (const ProcessTime& process : setting.processes) {
    while (by_default != baseline.processes.end() && by_default->trial < process.trial)
      ++by_default;
    if (by_default != baseline.processes.end() && by_default->trial == process.trial)
      add_ratio(ratios, by_default->time.over_batches_ns.median,
                process.time.over_batches_ns.median);
  }
  return ratios;
}

std::vector<double> paired_arms(const SettingResult& result) {
  std::vector<double> ratios;
  bool first_on_top = true;
  for (const ProcessTime& process : result.processes) {
    if (process.each_ns.size() != 2)
      continue;
    const std::size_t on_top = first_on_top ? 0 : 1;
    add_ratio(ratios, process.each_ns[on_top], process.each_ns[1 - on_top]);
    first_on_top = !first_on_top;
  }
  return ratios;
}

PairedScatter::PairedScatter(const std::vector<SettingResult>& results) {
  std::map<CellKey, const SettingResult*> baselines;
  for (const SettingResult& result : results)
    if (result.is_default)
      baselines.emplace(cell_of(result), &result);
  std::map<CellKey, std::vector<LogScatter>> by_cell;
  std::map<ClassKey, std::vector<LogScatter>> by_class;
  for (const SettingResult& result : results) {
    auto baseline = baselines.find(cell_of(result));
    if (baseline == baselines.end() || result.data == DataState::wrong)
      continue;
    auto scatter = log_scatter(result.is_default ? paired_arms(result)
                                                 : paired_ratios(*baseline->second, result));
    if (!scatter)
      continue;
    by_cell[cell_of(result)].push_back(*scatter);
    by_class[{result.setting, size_class(result.label.bytes)}].push_back(*scatter);
  }
  by_cell_ = typical_of_each(by_cell);
  by_class_ = typical_of_each(by_class);
}

std::optional<LogScatter> PairedScatter::in_cell_of(const SettingResult& result) const {
  return found_in(by_cell_, cell_of(result));
}

std::optional<LogScatter> PairedScatter::in_size_class_of(const SettingResult& result) const {
  return found_in(by_class_, ClassKey{result.setting, size_class(result.label.bytes)});
}

} // namespace ncclprobe::analysis
