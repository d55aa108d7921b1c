// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/environment_section.h"

#include "analysis/report/label_words.h"
#include "analysis/results/export_line.h"
#include "base/stored_variables.h"
#include "base/text_layout.h"

#include <algorithm>
#include <optional>

namespace ncclprobe::analysis::tune {
namespace {

struct VariableRow {
  const workload::EnvironmentVariable* variable;
  EnvironmentEffect effect = EnvironmentEffect::not_measured;
  std::optional<double> speed = std::nullopt; // without it
  std::optional<Interval> interval = std::nullopt;
  model::OutcomeKind outcome = model::OutcomeKind::ok; // without it
};

// The parameter that can remove this variable, and its value that does. What a file sets is removed
// by the default's value, the last one, because the environment wins over the file.
struct Removal {
  std::size_t parameter;
  int value;
};
std::optional<Removal> removal_of(const search::Space& space,
                                  const workload::EnvironmentVariable& variable) {
  const auto known =
      std::ranges::find(space.parameters, variable.setting.name, &search::Parameter::name);
  if (known == space.parameters.end())
    return std::nullopt;
  if (!variable.file.empty())
    return Removal{static_cast<std::size_t>(known - space.parameters.begin()),
                   static_cast<int>(known->values.size()) - 1};
  const auto value = std::ranges::find(known->values, base::k_value_unset);
  if (value == known->values.end())
    return std::nullopt;
  return Removal{static_cast<std::size_t>(known - space.parameters.begin()),
                 static_cast<int>(value - known->values.begin())};
}

// What became of the candidate that removes it and does nothing else than `base`; null: it was not
// tried.
const search::Reason* reason_of_removal(const Tuning& tuning, const Removal& removal,
                                        search::Candidate base) {
  base[removal.parameter] = removal.value;
  for (const search::Reason& one : tuning.outcome.reasons)
    if (one.candidate == base && !one.target && one.fate != search::Fate::unfinished)
      return &one;
  return nullptr;
}

bool is_removed(const Tuning& tuning, const workload::EnvironmentVariable& variable) {
  if (!is_recommended(tuning))
    return false;
  if (const auto removal = removal_of(tuning.space, variable); removal && !variable.file.empty())
    return tuning.outcome.settings.candidate[removal->parameter] == removal->value;
  const std::vector<std::string> all = removed_variables(tuning.delivered);
  return std::ranges::find(all, variable.setting.name) != all.end();
}

VariableRow of_removed(const Tuning& tuning, VariableRow row, std::size_t parameter) {
  const auto own = tuning.outcome.of_changes.find(parameter);
  row.effect = EnvironmentEffect::harms;
  if (tuning.delivered.size() == 1) {
    row.speed = tuning.proof->all->ratio;
    row.interval = tuning.proof->all->interval;
  } else if (own != tuning.outcome.of_changes.end()) {
    row.speed = own->second.speed;
    row.interval = own->second.interval;
  } else {
    row.effect = EnvironmentEffect::harms_in_sum;
  }
  return row;
}

VariableRow row_of(const Tuning& tuning, const workload::EnvironmentVariable& variable) {
  VariableRow row{&variable};
  const auto removal = removal_of(tuning.space, variable);
  if (removal && is_removed(tuning, variable))
    return of_removed(tuning, row, removal->parameter);
  if (!variable.why_nothing.empty()) {
    row.effect = EnvironmentEffect::none;
    return row;
  }
  if (!removal)
    return row;
  const search::Decision& delivered = tuning.outcome.settings;
  const bool beside = is_recommended(tuning) && delivered.proven;
  const search::Candidate as_it_is = default_candidate(tuning.space);
  const auto* alone = reason_of_removal(tuning, *removal, as_it_is);
  const auto* joint = beside ? reason_of_removal(tuning, *removal, delivered.candidate) : alone;
  for (const auto* one : {alone, joint})
    if (one) {
      row.effect = one->fate == search::Fate::failed ? EnvironmentEffect::needed
                                                     : EnvironmentEffect::not_harmful;
      row.outcome = one->outcome;
    }
  if (joint && joint->fate != search::Fate::failed) {
    row.speed = joint->speed / (beside ? delivered.over_default.speed : 1);
    if (!beside)
      row.interval = joint->interval;
  }
  return row;
}

} // namespace

TablePtr environment_table(const Tuning& tuning) {
  std::vector<VariableRow> rows;
  for (const workload::EnvironmentVariable& one : tuning.environment)
    rows.push_back(row_of(tuning, one));
  TableOf<VariableRow> table(std::move(rows));
  table.add("variable", [](const VariableRow& row) { return row.variable->setting.name; })
      .titled("variable")
      .left();
  table.add("value", [](const VariableRow& row) { return row.variable->setting.value; })
      .titled("value")
      .left(24);
  table
      .add("file",
           [](const VariableRow& row) {
             return row.variable->file.empty() ? Value() : Value(row.variable->file);
           })
      .titled("set in")
      .left(24)
      .if_any();
  table.add("effect", &VariableRow::effect).titled("effect here").left();
  table.add("speed_ratio", [](const VariableRow& row) { return six_digits(row.speed); })
      .titled("without it", {Unit::ratio, 3})
      .if_any();
  table.add("interval", [](const VariableRow& row) { return interval_value(row.interval); })
      .titled("interval", {Unit::fixed, 3})
      .interval()
      .if_any();
  table
      .add("why_effect",
           [](const VariableRow& row) {
             return row.effect == EnvironmentEffect::needed
                        ? "without it: " + analysis::in_words(row.outcome)
                        : row.variable->why_nothing;
           })
      .titled("why")
      .left(40);
  return table.table();
}

std::vector<std::string> without_effect(const Tuning& tuning) {
  std::vector<std::string> names;
  for (const workload::EnvironmentVariable& one : tuning.environment)
    if (row_of(tuning, one).effect == EnvironmentEffect::none)
      names.push_back(one.setting.name);
  return names;
}

std::string removed_in_words(const Tuning& tuning) {
  std::vector<std::string> words;
  for (const workload::EnvironmentVariable& one : tuning.environment)
    if (is_removed(tuning, one)) {
      const VariableRow row = row_of(tuning, one);
      words.push_back(one.setting.name);
      if (tuning.delivered.size() > 1 && row.speed && row.interval)
        words.back() += fmt::format(" ({}, {:.3f} to {:.3f})", shown(*row.speed, {Unit::ratio, 3}),
                                    row.interval->low, row.interval->high);
    }
  return join(words, ", ");
}

} // namespace ncclprobe::analysis::tune
