// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "base/document_limits.h"
#include "cli/option_values.h"
#include "cli/plan_file.h"
#include "cli/run_option_forms.h"

#include <toml++/toml.h>

#include <algorithm>
#include <map>

namespace ncclprobe::cli {
namespace {

using base::Errc;
using base::Error;
using base::fail;
using base::Result;

template <typename Named>
bool has_name(const std::vector<Named>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
}

class Reader {
public:
  Reader(std::string file, RunOptions& options)
      : file_(std::move(file)), said_(options), options_(options) {}

  Result<void> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      if (auto handler = handlers().find(std::string(key.str())); handler != handlers().end()) {
        NCCLPROBE_TRY((this->*handler->second)(node));
      } else if (const auto* form = run_form(key.str())) {
        NCCLPROBE_TRY(read_form(*form, said_, options_, node));
      } else {
        return wrong(node, fmt::format("'{}' is not a key of a plan file", key.str()));
      }
    }
    // As on the command line: the largest of several numbers is that of all ranks.
    if (const auto& counts = options_.workload.rank_counts; counts && !options_.ranks)
      options_.ranks = *std::max_element(counts->begin(), counts->end());
    // These say the same: what the command line said of one wins over the file's other one, too.
    if (said_.launches)
      options_.graph = said_.graph;
    if (said_.graph)
      options_.launches = said_.launches;
    return {};
  }

private:
  using Handler = Result<void> (Reader::*)(const toml::node&);

  static const OptionForm<RunOptions>* run_form(std::string_view key) {
    for (const RunFormGroup& group : run_option_forms())
      for (const OptionForm<RunOptions>& form : group.forms)
        if (form.is_key(key))
          return &form;
    return nullptr;
  }

  // What the command line said wins, but what is wrong is told all the same.
  template <typename Options>
  Result<void> read_form(const OptionForm<Options>& form, const Options& said, Options& into,
                         const toml::node& node) const {
    NCCLPROBE_TRY_ASSIGN(const std::string words, in_words(node));
    Options unread;
    if (auto read = form.read(form.write(said).empty() ? into : unread, words); !read)
      return wrong(node, read.error());
    return {};
  }

  tl::unexpected<Error> wrong(const toml::node& node, const std::string& what) const {
    return fail(Errc::invalid_argument, "{}:{}: {}", file_, node.source().begin.line, what);
  }
  // An error of a parser of ours, with file and line.
  tl::unexpected<Error> wrong(const toml::node& node, const Error& error) const {
    return wrong(node, error.text());
  }

  Result<std::string> text(const toml::node& node, const char* what) const {
    if (auto value = node.value_exact<std::string>())
      return *value;
    return wrong(node, fmt::format("{} must be a string", what));
  }

  Result<std::vector<std::string>> texts(const toml::node& node, const char* what) const {
    std::vector<std::string> values;
    const toml::array* array = node.as_array();
    if (array == nullptr)
      return wrong(node, fmt::format("{} must be an array of strings", what));
    for (const toml::node& element : *array) {
      NCCLPROBE_TRY_ASSIGN(auto value, text(element, what));
      values.push_back(std::move(value));
    }
    return values;
  }

  Result<std::vector<model::Setting>> settings(const toml::node* node,
                                               const toml::node& around) const {
    const toml::table* table = node ? node->as_table() : nullptr;
    if (table == nullptr)
      return wrong(around, "expected environment = { NAME = \"value\" }");
    std::vector<model::Setting> result;
    for (const auto& [name, value] : *table) {
      NCCLPROBE_TRY_ASSIGN(auto content, text(value, "the value of a variable"));
      result.push_back({std::string(name.str()), std::move(content)});
    }
    return result;
  }

  // Calls `handle` for each table of an array of tables.
  template <typename Handle>
  Result<void> each_table(const toml::node& node, const char* name, Handle handle) {
    const toml::array* array = node.as_array();
    if (array == nullptr)
      return wrong(node, fmt::format("write [[{}]]", name));
    for (const toml::node& element : *array) {
      if (!element.is_table())
        return wrong(element, fmt::format("write [[{}]]", name));
      NCCLPROBE_TRY(handle(*element.as_table()));
    }
    return {};
  }

  Result<void> axes(const toml::node& node) {
    return each_table(node, "axis", [&](const toml::table& table) -> Result<void> {
      const toml::node* name = table.get("name");
      const toml::node* values = table.get("values");
      if (!name || !values)
        return wrong(table, "an axis needs a name and values");
      NCCLPROBE_TRY_ASSIGN(auto variable, text(*name, "the name of an axis"));
      NCCLPROBE_TRY_ASSIGN(auto list, texts(*values, "the values of an axis"));
      if (!has_name(said_.axes, variable))
        options_.axes.push_back({std::move(variable), std::move(list)});
      return {};
    });
  }

  Result<void> combinations(const toml::node& node) {
    return each_table(node, "setting", [&](const toml::table& table) -> Result<void> {
      NCCLPROBE_TRY_ASSIGN(auto combination, settings(table.get("environment"), table));
      options_.settings.push_back(std::move(combination));
      return {};
    });
  }

  Result<void> rank_settings(const toml::node& node) {
    return each_table(node, "rank_set", [&](const toml::table& table) -> Result<void> {
      const toml::node* ranks = table.get("ranks");
      if (!ranks)
        return wrong(table, "a rank_set needs ranks, such as \"0-3\"");
      NCCLPROBE_TRY_ASSIGN(const auto range, text(*ranks, "ranks"));
      NCCLPROBE_TRY_ASSIGN(const auto environment, settings(table.get("environment"), table));
      for (const model::Setting& one : environment) {
        std::map<int, std::vector<model::Setting>> by_rank;
        auto added = add_rank_setting(range + ":" + one.name + "=" + one.value, by_rank);
        if (!added)
          return wrong(table, added.error());
        for (const auto& [rank, setting] : by_rank) {
          auto said = said_.per_rank.find(rank);
          if (said == said_.per_rank.end() || !has_name(said->second, one.name))
            options_.per_rank[rank].push_back(one);
        }
      }
      return {};
    });
  }

  static const std::map<std::string, Handler>& handlers() {
    static const std::map<std::string, Handler> table{
        {"override", &Reader::override_names}, {"axis", &Reader::axes},
        {"setting", &Reader::combinations},    {"rank_set", &Reader::rank_settings},
        {"workload", &Reader::workload},       {"placement", &Reader::placement},
        {"libraries", &Reader::libraries},     {"compare_libraries", &Reader::compared_libraries},
    };
    return table;
  }

  Result<void> override_names(const toml::node& node) {
    NCCLPROBE_TRY_ASSIGN(auto names, texts(node, "override"));
    options_.overrides.insert(options_.overrides.end(), names.begin(), names.end());
    return {};
  }
  // A value as the command line has it: lists with commas, flags as "on" and "off".
  Result<std::string> in_words(const toml::node& node) const {
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
      NCCLPROBE_TRY_ASSIGN(std::string one, in_words(element));
      if (one.find(',') != std::string::npos)
        one = "[" + one + "]"; // one value, as --set and --cpu-affinity have it
      list += (list.empty() ? "" : ",") + one;
    }
    return list;
  }
  Result<void> workload(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr)
      return wrong(node, "write [workload]");
    for (const auto& [key, value] : *table) {
      auto form = std::ranges::find_if(
          workload_options(), [&](const WorkloadOption& one) { return one.is_key(key.str()); });
      if (form == workload_options().end())
        return wrong(value, fmt::format("'{}' is not a key of [workload]", key.str()));
      NCCLPROBE_TRY(read_form(*form, said_.workload, options_.workload, value));
    }
    return {};
  }
  // One key for two options: each gives way only to what was said of itself.
  Result<void> placement(const toml::node& node) {
    NCCLPROBE_TRY_ASSIGN(const std::string words, in_words(node));
    if (model::parse_enum<topology::RankChoice>(words, "placement"))
      return read_form(workload_option("placement"), said_.workload, options_.workload, node);
    return read_form(*run_form("placement"), said_, options_, node);
  }
  Result<void> libraries(const toml::node& node) {
    NCCLPROBE_TRY_ASSIGN(auto list, settings(&node, node));
    for (model::Setting& library : list) {
      if (auto known = check_library_name(library.name); !known)
        return wrong(node, known.error());
      if (!has_name(said_.libraries, library.name))
        options_.libraries.push_back(std::move(library));
    }
    return {};
  }

  Result<void> compared_libraries(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr)
      return wrong(node, "write [compare_libraries]");
    for (const auto& [key, value] : *table) {
      std::string name(key.str());
      if (auto known = check_library_name(name); !known)
        return wrong(value, known.error());
      NCCLPROBE_TRY_ASSIGN(auto files, texts(value, "the files of a library"));
      if (!has_name(said_.compared_libraries, name))
        options_.compared_libraries.push_back({std::move(name), std::move(files)});
    }
    return {};
  }

  std::string file_;
  const RunOptions said_; // on the command line, which wins
  RunOptions& options_;
};

} // namespace

Result<void> apply_plan_text(const std::string& text, const std::string& name,
                             RunOptions& options) {
  NCCLPROBE_TRY(base::check_toml_limits(text, name));
  try {
    toml::table table = toml::parse(text, name);
    return Reader(name, options).read(table);
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}:{}: {}", name, error.source().begin.line,
                error.description());
  }
}

Result<std::string> apply_plan_file(const std::filesystem::path& path, RunOptions& options) {
  NCCLPROBE_TRY_ASSIGN(std::string content, base::read_text(path, base::k_most_toml_bytes));
  NCCLPROBE_TRY(apply_plan_text(content, path.string(), options));
  return content;
}

} // namespace ncclprobe::cli
