// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/toml_options.h"

#include "base/document_limits.h"
#include "base/similar_words.h"

#include <toml++/toml.h>

namespace ncclprobe::cli {
namespace {

class TomlReader {
public:
  explicit TomlReader(const std::string& file) : file_(file) {}

  Result<void> read(const toml::table& table, const Options& options,
                    const std::vector<TomlTables>& tables = {}) const {
    for (const auto& [key, node] : table) {
      auto several = std::ranges::find(tables, key.str(), &TomlTables::key);
      if (several != tables.end()) {
        NCCLPROBE_TRY(read_tables(*several, node));
        continue;
      }
      auto option = std::ranges::find_if(options, [name = key.str()](const Option& one) {
        return one.key() == name || (one.also.starts_with("--") && one.also.substr(2) == name);
      });
      if (option == options.end())
        return wrong(node, fmt::format("'{}' is not a key here{}", key.str(),
                                       did_you_mean(options, tables, key.str())));
      NCCLPROBE_TRY(read_value(*option, node));
    }
    return {};
  }

private:
  std::string place_of(const toml::node& node) const {
    return fmt::format("{}:{}", file_, node.source().begin.line);
  }
  tl::unexpected<Error> wrong(const toml::node& node, const std::string& what) const {
    return fail(Errc::invalid_argument, "{}: {}", place_of(node), what);
  }

  Result<void> read_tables(const TomlTables& tables, const toml::node& node) const {
    const toml::array* array = node.as_array();
    if (array == nullptr || !array->is_array_of_tables())
      return wrong(node, fmt::format("'{}' is a table of its own; begin each with [[{}]]",
                                     tables.key, tables.key));
    for (const toml::node& one : *array) {
      NCCLPROBE_TRY(read(*one.as_table(), tables.begin()));
      if (const Result<void> finished = tables.finish(place_of(one)); !finished)
        return wrong(one, finished.error().text());
    }
    return {};
  }

  static std::string did_you_mean(const Options& options, const std::vector<TomlTables>& tables,
                                  std::string_view word) {
    std::vector<std::string> keys;
    for (const Option& one : options)
      keys.push_back(one.key());
    for (const TomlTables& one : tables)
      keys.push_back(one.key);
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const std::string_view nearest = base::most_similar(word, views);
    return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
  }

  // Reads each element of an array alone first, so that an error has its line. Then, unless the
  // option may be repeated, reads all as one text.
  Result<void> read_value(const Option& option, const toml::node& node) const {
    // As a number, 12.10 would become 12.1.
    if (option.value == "VERSION" && !node.is_string())
      return wrong(node, option.key() + " must be a version as text, such as \"8.0\"");
    const toml::array* array = option.repeats || option.is_list() ? node.as_array() : nullptr;
    if (array != nullptr)
      for (const toml::node& element : *array) {
        NCCLPROBE_TRY_ASSIGN(const std::string text, text_of(element));
        NCCLPROBE_TRY(read_text(option, element, option.repeats ? text : bracketed_list({text})));
      }
    if (array != nullptr && option.repeats)
      return {};
    NCCLPROBE_TRY_ASSIGN(const std::string text, text_of(node));
    return read_text(option, node, text);
  }

  Result<void> read_text(const Option& option, const toml::node& node,
                         const std::string& text) const {
    const Result<void> read = option.read(text);
    if (read)
      return read;
    // "'70': give ..." names no key.
    std::string what = read.error().text();
    if (const std::string quoted = fmt::format("'{}': ", text); what.starts_with(quoted))
      what = fmt::format("{} = {}: {}", option.key(), text, what.substr(quoted.size()));
    return wrong(node, what);
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

  const std::string& file_;
};

} // namespace

Result<void> read_toml_options(const std::string& text, const std::string& file,
                               const Options& options, const std::vector<TomlTables>& tables) {
  NCCLPROBE_TRY(base::check_toml_limits(text, file));
  try {
    return TomlReader(file).read(toml::parse(text, file), options, tables);
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}:{}: {}", file, error.source().begin.line,
                error.description());
  }
}

} // namespace ncclprobe::cli
