// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/typical_scatter.h"

#include "analysis/verdict/default_arms.h"
#include "analysis/verdict/size_class.h"

namespace ncclprobe::analysis {
namespace {

std::vector<LogScatter> scatters_of(const SettingResult& result) {
  std::vector<LogScatter> scatters;
  auto add = [&](const std::vector<double>& times_ns) {
    if (auto scatter = log_scatter(times_ns))
      scatters.push_back(*scatter);
  };
  if (result.is_default) {
    DefaultArms arms = default_arms(result);
    add(arms.even_ns);
    add(arms.odd_ns);
  } else {
    add(process_times_ns(result));
  }
  return scatters;
}

template <class Key>
std::map<Key, LogScatter> typical_by(const std::map<Key, std::vector<LogScatter>>& scatters) {
  std::map<Key, LogScatter> out;
  for (const auto& [key, of_key] : scatters)
    out.emplace(key, typical(of_key));
  return out;
}

template <class Key>
std::optional<LogScatter> find(const std::map<Key, LogScatter>& scatters, const Key& key) {
  auto found = scatters.find(key);
  return found == scatters.end() ? std::nullopt : std::optional(found->second);
}

} // namespace

LogScatter typical(const std::vector<LogScatter>& scatters) {
  LogScatter out;
  std::vector<double> variances;
  for (const LogScatter& one : scatters) {
    variances.push_back(one.variance);
    out.degrees_of_freedom += one.degrees_of_freedom;
  }
  out.variance = median(std::move(variances));
  return out;
}

TypicalScatter::TypicalScatter(const std::vector<SettingResult>& results) {
  std::map<CellKey, std::vector<LogScatter>> by_cell;
  std::map<ClassKey, std::vector<LogScatter>> by_class;
  for (const SettingResult& result : results) {
    if (result.data == DataState::wrong)
      continue;
    for (const LogScatter& scatter : scatters_of(result)) {
      if (!result.in_process) // else these processes count already
        by_cell[cell_of(result)].push_back(scatter);
      by_class[class_of(result)].push_back(scatter);
    }
  }
  by_cell_ = typical_by(by_cell);
  by_class_ = typical_by(by_class);
}

TypicalScatter::CellKey TypicalScatter::cell_of(const SettingResult& result) {
  return {result.label, result.ranks, result.timing_mode};
}

TypicalScatter::ClassKey TypicalScatter::class_of(const SettingResult& result) {
  return {result.is_default, result.setting, size_class(result.label.bytes)};
}

std::optional<LogScatter> TypicalScatter::in_cell_of(const SettingResult& result) const {
  return find(by_cell_, cell_of(result));
}

std::optional<LogScatter> TypicalScatter::in_size_class_of(const SettingResult& result) const {
  return find(by_class_, class_of(result));
}

} // namespace ncclprobe::analysis
