// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/plan_file.h"

#include "base/atomic_file.h"
#include "base/document_limits.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

namespace ncclprobe::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

class PlanReader {
public:
  explicit PlanReader(std::string file) : file_(std::move(file)) {}

  Result<void> read(const toml::table& table, Options& options) const {
    for (const auto& [key, node] : table) {
      auto option = std::ranges::find_if(options, [name = key.str()](const Option& one) {
        return one.key() == name || (one.also.starts_with("--") && one.also.substr(2) == name);
      });
      if (option == options.end())
        return wrong(node, fmt::format("'{}' is not a key of a plan file", key.str()));
      NCCLPROBE_TRY_ASSIGN(const auto texts, texts_of(*option, node));
      for (const std::string& text : texts)
        if (auto read = option->read(text); !read)
          return wrong(node, read.error().text());
    }
    return {};
  }

private:
  tl::unexpected<base::Error> wrong(const toml::node& node, const std::string& what) const {
    return fail(Errc::invalid_argument, "{}:{}: {}", file_, node.source().begin.line, what);
  }

  // One for each time that the command line would name the option.
  Result<std::vector<std::string>> texts_of(const Option& option, const toml::node& node) const {
    std::vector<std::string> texts;
    const toml::array* array = option.repeats ? node.as_array() : nullptr;
    if (array == nullptr) {
      NCCLPROBE_TRY_ASSIGN(std::string text, text_of(node));
      return std::vector{std::move(text)};
    }
    for (const toml::node& element : *array) {
      NCCLPROBE_TRY_ASSIGN(std::string text, text_of(element));
      texts.push_back(std::move(text));
    }
    return texts;
  }

  // A value as the command line has it: lists with commas, flags as "on" and "off".
  Result<std::string> text_of(const toml::node& node) const {
    if (auto value = node.value_exact<std::string>())
      return *value;
    if (auto value = node.value_exact<std::int64_t>())
      return std::to_string(*value);
    if (auto value = node.value_exact<double>())
      return fmt::format("{}", *value);
    if (auto value = node.value_exact<bool>())
      return std::string(*value ? "on" : "off");
    const toml::array* array = node.as_array();
    if (array == nullptr || array->empty())
      return wrong(node, "expected a string, a number, true, false, or an array of these");
    std::string list;
    for (const toml::node& element : *array) {
      NCCLPROBE_TRY_ASSIGN(const std::string one, text_of(element));
      list += (list.empty() ? "" : ",") + bracketed_list({one});
    }
    return list;
  }

  std::string file_;
};

template <typename Named>
bool has_name(const std::vector<Named>& all, const std::string& name) {
  return std::ranges::any_of(all, [&](const Named& one) { return one.name == name; });
}

// Those of other names than there are.
template <typename Named>
void add_new(std::vector<Named>& into, const std::vector<Named>& more) {
  const std::vector<Named> said = into;
  std::ranges::copy_if(more, std::back_inserter(into),
                       [&](const Named& one) { return !has_name(said, one.name); });
}

// What the command line said wins: over the same option, over those that exclude each other, and
// in lists over what has the same name.
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
        base::value_or_throw(said[i].read(text)); // it was read once
  add_new(into.axes, more.axes);
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

// In TOML's own types where that is what people would write: numbers, lists, true and false.
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
  else if (!option.repeats && words.size() == 1 && !text.starts_with('[')) // else several values
    table.insert(option.key(), words.front());
  else
    table.insert(option.key(), words);
}

} // namespace

Result<void> apply_plan_text(const std::string& text, const std::string& name,
                             RunOptions& options) {
  NCCLPROBE_TRY(base::check_toml_limits(text, name));
  RunOptions of_file;
  Options readers = plan_file_options(of_file);
  try {
    NCCLPROBE_TRY(PlanReader(name).read(toml::parse(text, name), readers));
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}:{}: {}", name, error.source().begin.line,
                error.description());
  }
  add_unsaid(options, of_file);
  return {};
}

Result<std::string> apply_plan_file(const std::filesystem::path& path, RunOptions& options) {
  NCCLPROBE_TRY_ASSIGN(std::string content, base::read_text(path, base::k_most_toml_bytes));
  NCCLPROBE_TRY(apply_plan_text(content, path.string(), options));
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
