// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/plan_file.h"
#include "cli/run_option_forms.h"

#include <toml++/toml.h>

#include <charconv>
#include <sstream>

namespace ncclprobe::cli {
namespace {

toml::table table_of(const std::vector<model::Setting>& settings) {
  toml::table table;
  for (const model::Setting& one : settings)
    table.insert(one.name, one.value);
  table.is_inline(true);
  return table;
}

void append(toml::array& array, const std::string& word) {
  std::int64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  if (std::to_string(value) == word)
    array.push_back(value);
  else
    array.push_back(word);
}

// In TOML's own types where that is what people would write: numbers, lists, true and false.
template <typename Options, typename Form>
void put_forms(toml::table& table, const std::vector<Form>& forms, const Options& options) {
  for (const OptionForm<Options>& form : forms) {
    const std::string text = form.write(options);
    const std::string_view value = form.value;
    if (text.empty())
      continue;
    toml::array words;
    if (value.ends_with(",...")) { // brackets as in the values of an axis
      const workload::Axis axis = workload::parse_axis("x=" + text).value();
      for (const std::string& word : axis.values)
        append(words, word);
    } else {
      append(words, text);
    }
    if (value.empty() || value == "on|off")
      table.insert(form.key(), text == "on");
    else if (words.size() == 1 && !text.starts_with('[')) // or it would read as several values
      table.insert(form.key(), words.front());
    else
      table.insert(form.key(), words);
  }
}

} // namespace

std::string write_plan_file(const RunOptions& options) {
  toml::table table;
  for (const RunFormGroup& group : run_option_forms())
    put_forms(table, group.forms, options);
  toml::array overrides, axes, settings, rank_sets;
  for (const std::string& name : options.overrides)
    overrides.push_back(name);
  for (const workload::Axis& axis : options.axes) {
    toml::array values;
    for (const std::string& value : axis.values)
      values.push_back(value);
    axes.push_back(toml::table{{"name", axis.name}, {"values", values}});
  }
  for (const auto& combination : options.settings)
    settings.push_back(toml::table{{"environment", table_of(combination)}});
  for (const auto& [rank, own] : options.per_rank)
    rank_sets.push_back(
        toml::table{{"ranks", std::to_string(rank)}, {"environment", table_of(own)}});
  if (!overrides.empty())
    table.insert("override", overrides);
  if (!axes.empty())
    table.insert("axis", axes);
  if (!settings.empty())
    table.insert("setting", settings);
  if (!rank_sets.empty())
    table.insert("rank_set", rank_sets);
  toml::table workload;
  put_forms(workload, workload_options(), options.workload);
  if (!workload.empty())
    table.insert("workload", workload);
  if (!options.libraries.empty()) {
    toml::table libraries = table_of(options.libraries);
    libraries.is_inline(false);
    table.insert("libraries", libraries);
  }
  toml::table compared;
  for (const workload::Axis& library : options.compared_libraries) {
    toml::array files;
    for (const std::string& file : library.values)
      files.push_back(file);
    compared.insert(library.name, files);
  }
  if (!compared.empty())
    table.insert("compare_libraries", compared);
  std::ostringstream out;
  out << table << "\n";
  return out.str();
}

} // namespace ncclprobe::cli
