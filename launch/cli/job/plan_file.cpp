// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/plan_file.h"

#include "base/atomic_file.h"
#include "base/document_limits.h"
#include "launch/cli/common/file_kind.h"
#include "launch/cli/common/toml_options.h"

#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

namespace ncclprobe::cli {
namespace {

template <typename Named>
bool has_name(const std::vector<Named>& all, const std::string& name) {
  return std::ranges::any_of(all, [&](const Named& one) { return one.name == name; });
}

// Those of `more` whose names `into` lacks.
template <typename Named>
void add_new(std::vector<Named>& into, const std::vector<Named>& more) {
  const std::vector<Named> said = into;
  std::ranges::copy_if(more, std::back_inserter(into),
                       [&](const Named& one) { return !has_name(said, one.name); });
}

// The command line overrides the same option of the plan file, options that exclude each other, and
// entries of lists with the same name.
void add_unsaid(RunOptions& into, RunOptions& more) {
  const Options said = plan_file_options(into);
  const Options of_file = plan_file_options(more);
  std::set<std::string> settled;
  for (const Option& one : said) {
    const bool is_said = !one.write().empty();
    for (const std::string& other : one.excludes)
      if (is_said || !find_option(said, other)->write().empty())
        settled.insert({one.name, other});
    if (is_said)
      settled.insert(one.name);
  }
  for (std::size_t i = 0; i < said.size(); ++i)
    if (!said[i].repeats && !settled.contains(said[i].name))
      for (const std::string& text : of_file[i].write())
        value_or_throw(said[i].read(text)); // it has been read before, so it is valid
  add_new(into.axes, more.axes);
  add_new(into.in_process, more.in_process);
  add_new(into.libraries, more.libraries);
  add_new(into.compared_libraries, more.compared_libraries);
  for (const auto& [rank, settings] : more.per_rank)
    add_new(into.per_rank[rank], settings);
  into.settings.insert(into.settings.end(), more.settings.begin(), more.settings.end());
  into.overrides.insert(into.overrides.end(), more.overrides.begin(), more.overrides.end());
}

void append(toml::array& array, const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (std::to_string(value) == text)
    array.push_back(value);
  else
    array.push_back(text);
}

// Uses TOML's own types where people would: numbers, lists, true and false.
void put(toml::table& table, const Option& option) {
  const std::vector<std::string> texts = option.write();
  if (texts.empty())
    return;
  const std::string& text = texts.front();
  toml::array words;
  if (option.repeats) {
    for (const std::string& one : texts)
      words.push_back(one);
  } else if (option.is_list()) { // brackets as in the values of an axis
    const workload::Axis axis = workload::parse_axis("x=" + text).value();
    for (const std::string& word : axis.values)
      append(words, word);
  } else {
    append(words, text);
  }
  if (option.is_flag() || option.value == "on|off")
    table.insert(option.key(), text == "on");
  else if (!option.repeats && words.size() == 1 &&
           !text.starts_with('[')) // otherwise several values
    table.insert(option.key(), words.front());
  else
    table.insert(option.key(), words);
}

// Also reads the output of `plan --format json`: each of its values is a TOML value.
Result<std::string> toml_of(const std::string& text, const std::string& name) {
  if (!text.starts_with('{'))
    return text;
  NCCLPROBE_TRY(base::check_json_limits(text, name));
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object())
    return text;
  std::string toml;
  for (const auto& [key, value] : document.items())
    toml += fmt::format("{} = {}\n", key, value.dump());
  return toml;
}

} // namespace

Result<void> apply_plan_text(const std::string& text, const std::string& name,
                             RunOptions& options) {
  RunOptions of_file;
  NCCLPROBE_TRY(read_toml_options(text, name, plan_file_options(of_file)));
  add_unsaid(options, of_file);
  return {};
}

Result<std::string> apply_plan_file(const std::filesystem::path& path, RunOptions& options) {
  auto content = base::read_text(path, base::k_most_toml_bytes);
  if (content)
    content = toml_of(*content, path.string());
  auto applied = content.and_then(
      [&](const std::string& text) { return apply_plan_text(text, path.string(), options); });
  if (!applied)
    return fail(with_right_command(std::move(applied.error()), path));
  return content;
}

std::string write_plan_file(RunOptions options, PlanFormat format) {
  toml::table table;
  for (const Option& option : plan_file_options(options))
    put(table, option);
  std::ostringstream out;
  if (format == PlanFormat::json)
    out << toml::json_formatter(table) << "\n";
  else
    out << table << "\n";
  return out.str();
}

} // namespace ncclprobe::cli
