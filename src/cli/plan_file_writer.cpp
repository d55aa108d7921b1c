// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"
#include "cli/plan_file.h"

#include <toml++/toml.h>

#include <sstream>

namespace ncclprobe::cli {
namespace {

template <typename T>
toml::array names_of(const std::vector<T>& values) {
  toml::array array;
  for (T value : values)
    array.push_back(std::string(model::to_string(value)));
  return array;
}

toml::table table_of(const std::vector<model::Setting>& settings) {
  toml::table table;
  for (const model::Setting& one : settings)
    table.insert(one.name, one.value);
  table.is_inline(true);
  return table;
}

std::string duration_text(std::int64_t ns) {
  return fmt::format("{}us", static_cast<double>(ns) / 1000);
}

} // namespace

std::string write_plan_file(const RunOptions& options) {
  toml::table table;
  auto put = [&](const char* key, const auto& value) {
    if (value)
      table.insert(key, static_cast<std::int64_t>(*value));
  };
  auto put_numbers = [&](const char* key, const auto& values) {
    if (!values || values->empty())
      return;
    toml::array array;
    for (auto value : *values)
      array.push_back(static_cast<std::int64_t>(value));
    table.insert(key, array);
  };
  auto put_duration = [&](const char* key, const std::optional<std::int64_t>& value) {
    if (value)
      table.insert(key, duration_text(*value));
  };
  if (options.backend)
    table.insert("backend", *options.backend);
  if (options.prepare)
    table.insert("prepare", *options.prepare);
  if (options.output)
    table.insert("output", *options.output);
  if (options.collectives)
    table.insert("collectives", names_of(*options.collectives));
  if (options.types)
    table.insert("types", names_of(*options.types));
  if (options.ops)
    table.insert("ops", names_of(*options.ops));
  if (options.placements)
    table.insert("placement", names_of(*options.placements));
  if (options.sizes && !options.sizes->empty()) {
    std::string list;
    for (std::uint64_t size : *options.sizes)
      list += (list.empty() ? "" : ",") + base::format_bytes(size);
    table.insert("sizes", list);
  }
  if (options.proof)
    table.insert("proof", std::string(model::to_string(*options.proof)));
  if (options.trace)
    table.insert("trace", std::string(model::to_string(*options.trace)));
  put("ranks", options.ranks);
  put("devices_per_worker", options.seats_per_worker);
  put_numbers("counts", options.counts);
  put_numbers("roots", options.roots);
  put_numbers("offset", options.offsets);
  put_numbers("split", options.splits);
  put_numbers("streams", options.streams);
  put("warmups", options.warmups);
  put("iterations", options.iterations);
  put("batches", options.batches);
  if (options.mode)
    table.insert("mode", std::string(model::to_string(*options.mode)));
  if (options.target_interval)
    table.insert("interval", fmt::format("{:.10g}%", 100 * *options.target_interval));
  put("max_batches", options.max_batches);
  put("repeat", options.repeats);
  put("seed", options.seed);
  put_duration("budget", options.budget_ns);
  put_duration("cell_timeout", options.cell_deadline_ns);
  put_duration("startup_timeout", options.startup_deadline_ns);
  if (options.graph)
    table.insert("graph", true);
  if (options.registered)
    table.insert("register", true);
  if (options.no_sweep)
    table.insert("no_sweep", true);
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
  for (const WorkloadOption& one : workload_options())
    if (std::string value = one.write(options.workload); !value.empty())
      workload.insert(one.key(), value);
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
