// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/choice_map.h"

#include <algorithm>
#include <map>
#include <optional>

namespace ncclprobe::analysis::tune {
namespace {

// Of one target.
struct MapRow {
  std::string target;
  std::uint64_t bytes;
  double regret = 0;
  std::string best;                    // empty: the library's own choice
  std::map<std::string, double> gains; // by value of the parameter
};

struct ChoiceMap {
  std::string parameter;
  std::vector<std::string> values; // with a measurement, as in the space
  std::vector<MapRow> rows;
};

// Of candidates that differ from the library's own choice in process alone, and ran beside it.
std::vector<const search::Reason*> screened(const Tuning& tuning) {
  std::optional<search::Candidate> process; // under which all were screened
  for (const search::Reason& one : tuning.outcome.reasons)
    if (one.target && one.stage == search::Stage::screen)
      process = process_part(tuning.space, one.candidate);
  std::vector<const search::Reason*> reasons;
  for (const search::Reason& one : tuning.outcome.reasons)
    if (process && one.target && one.fate != search::Fate::failed &&
        one.fate != search::Fate::unfinished &&
        process_part(tuning.space, one.candidate) == *process)
      reasons.push_back(&one);
  return reasons;
}

ChoiceMap map_of(const Tuning& tuning) {
  ChoiceMap map;
  const search::Space& space = tuning.space;
  const auto parameter = std::ranges::find(space.parameters, true, &search::Parameter::in_process);
  if (parameter == space.parameters.end())
    return map;
  const auto at = static_cast<std::size_t>(parameter - space.parameters.begin());
  map.parameter = parameter->name;
  std::map<std::size_t, MapRow> rows;
  for (const search::Reason* one : screened(tuning)) {
    const search::Target& target = space.targets[*one->target];
    MapRow& row = rows.try_emplace(*one->target, MapRow{target.name, target.bytes}).first->second;
    const double gain = one->speed - 1;
    const std::string& value = parameter->values[static_cast<std::size_t>(one->candidate[at])];
    auto [known, is_new] = row.gains.try_emplace(value, gain);
    known->second = std::max(known->second, gain);
    if (gain > row.regret) {
      row.regret = gain;
      row.best = to_text(space, one->candidate);
    }
  }
  for (auto& [target, row] : rows)
    map.rows.push_back(std::move(row));
  for (const std::string& value : parameter->values)
    if (std::ranges::any_of(map.rows, [&](const MapRow& row) { return row.gains.contains(value); }))
      map.values.push_back(value);
  return map;
}

std::string title_of(const ChoiceMap& map, const std::string& value) {
  return value.empty()                  ? "its own " + map.parameter
         : map.parameter == "algorithm" ? value
                                        : map.parameter + "=" + value;
}

std::optional<double> gain_of(const MapRow& row, const std::string& value) {
  const auto found = row.gains.find(value);
  return found == row.gains.end() ? std::nullopt : std::optional(six_digits(found->second));
}

struct CandidateRow {
  std::string target;
  std::string candidate;
  double speed;
};

} // namespace

TablePtr choice_map(const Tuning& tuning) {
  const ChoiceMap map = map_of(tuning);
  TableOf<MapRow> table(map.rows);
  table.add("target", &MapRow::target).titled("target").left(30);
  table.add("bytes", &MapRow::bytes);
  table.add("regret", [](const MapRow& row) { return six_digits(row.regret); })
      .titled("regret", {Unit::percent, 1});
  table.add("best", &MapRow::best);
  table
      .add("by_choice",
           [map](const MapRow& row) {
             List list;
             for (const auto& [value, gain] : row.gains)
               list.emplace_back(
                   Object{{"choice", title_of(map, value)}, {"gain", six_digits(gain)}});
             return list;
           })
      .nested();
  for (const std::string& value : map.values)
    table.show(title_of(map, value), [value](const MapRow& row) { return gain_of(row, value); },
               {Unit::percent, 1});
  return table.table();
}

TablePtr candidate_map(const Tuning& tuning) {
  std::vector<CandidateRow> rows;
  for (const search::Reason* one : screened(tuning))
    rows.push_back({tuning.space.targets[*one->target].name, to_text(tuning.space, one->candidate),
                    one->speed});
  TableOf<CandidateRow> table(std::move(rows));
  table.add("target", &CandidateRow::target).titled("target").left();
  table.add("candidate", &CandidateRow::candidate).titled("choice").left();
  table.add("speed_ratio", [](const CandidateRow& row) { return six_digits(row.speed); })
      .titled("speed against the library's choice", {Unit::ratio});
  return table.table();
}

} // namespace ncclprobe::analysis::tune
