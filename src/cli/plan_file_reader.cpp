// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "base/units.h"
#include "cli/option_values.h"
#include "cli/plan_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <functional>

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
      auto handler = handlers().find(std::string(key.str()));
      if (handler == handlers().end())
        return wrong(node, fmt::format("'{}' is not a key of a plan file", key.str()));
      NCCLPROBE_TRY(handler->second(*this, node));
    }
    return {};
  }

private:
  using Handler = std::function<Result<void>(Reader&, const toml::node&)>;

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

  template <typename T>
  Result<void> number(const toml::node& node, std::optional<T>& into, std::int64_t least) const {
    auto value = node.value_exact<std::int64_t>();
    if (!value || *value < least)
      return wrong(node, fmt::format("expected a whole number from {}", least));
    if (!into)
      into = static_cast<T>(*value);
    return {};
  }

  // A number, or an array of them.
  template <typename T>
  Result<void> numbers(const toml::node& node, std::optional<std::vector<T>>& into,
                       std::int64_t least) const {
    std::vector<T> values;
    auto add = [&](const toml::node& one) -> Result<void> {
      std::optional<T> value;
      NCCLPROBE_TRY(number(one, value, least));
      values.push_back(*value);
      return {};
    };
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& element : *array)
        NCCLPROBE_TRY(add(element));
    } else {
      NCCLPROBE_TRY(add(node));
    }
    if (!into)
      into = std::move(values);
    return {};
  }

  Result<void> duration(const toml::node& node, std::optional<std::int64_t>& into) const {
    NCCLPROBE_TRY_ASSIGN(const std::string value, text(node, "a duration"));
    auto parsed = base::parse_duration_ns(value);
    if (!parsed)
      return wrong(node, parsed.error());
    if (!into)
      into = *parsed;
    return {};
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

  template <typename T>
  Result<void> names(const toml::node& node, const char* what,
                     std::optional<std::vector<T>>& into) const {
    NCCLPROBE_TRY_ASSIGN(const auto words, texts(node, what));
    std::vector<T> values;
    for (const std::string& word : words) {
      auto value = model::parse_enum<T>(word, what);
      if (!value)
        return wrong(node, value.error());
      values.push_back(*value);
    }
    if (!into)
      into = std::move(values);
    return {};
  }

  template <typename T>
  Result<void> name(const toml::node& node, const char* what, std::optional<T>& into) const {
    NCCLPROBE_TRY_ASSIGN(const std::string word, text(node, what));
    auto value = model::parse_enum<T>(word, what);
    if (!value)
      return wrong(node, value.error());
    if (!into)
      into = *value;
    return {};
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
        {"backend",
         [](Reader& self, const toml::node& node) {
           return self.plain_text(node, self.options_.backend);
         }},
        {"output",
         [](Reader& self, const toml::node& node) {
           return self.plain_text(node, self.options_.output);
         }},
        {"prepare", [](Reader& self, const toml::node& node) { return self.prepare(node); }},
        {"sizes", [](Reader& self, const toml::node& node) { return self.size_list(node); }},
        {"collectives",
         [](Reader& self, const toml::node& node) {
           return self.names(node, "collective", self.options_.collectives);
         }},
        {"types",
         [](Reader& self, const toml::node& node) {
           return self.names(node, "data type", self.options_.types);
         }},
        {"ops",
         [](Reader& self, const toml::node& node) {
           return self.names(node, "reduction", self.options_.ops);
         }},
        {"placement",
         [](Reader& self, const toml::node& node) {
           return self.names(node, "placement", self.options_.placements);
         }},
        {"ranks", [](Reader& self,
                     const toml::node& node) { return self.number(node, self.options_.ranks, 1); }},
        {"devices_per_worker",
         [](Reader& self, const toml::node& node) {
           return self.number(node, self.options_.seats_per_worker, 1);
         }},
        {"trace",
         [](Reader& self, const toml::node& node) {
           return self.name(node, "choice for trace", self.options_.trace);
         }},
        {"proof",
         [](Reader& self, const toml::node& node) {
           return self.name(node, "choice for proof", self.options_.proof);
         }},
        {"counts",
         [](Reader& self, const toml::node& node) {
           return self.numbers(node, self.options_.counts, 0);
         }},
        {"roots",
         [](Reader& self, const toml::node& node) {
           return self.numbers(node, self.options_.roots, 0);
         }},
        {"root", [](Reader& self,
                    const toml::node& node) { return self.numbers(node, self.options_.roots, 0); }},
        {"offset",
         [](Reader& self, const toml::node& node) {
           return self.numbers(node, self.options_.offsets, 0);
         }},
        {"split",
         [](Reader& self, const toml::node& node) {
           return self.numbers(node, self.options_.splits, 1);
         }},
        {"streams",
         [](Reader& self, const toml::node& node) {
           return self.numbers(node, self.options_.streams, 1);
         }},
        {"graph",
         [](Reader& self, const toml::node& node) { return self.flag(node, self.options_.graph); }},
        {"register",
         [](Reader& self, const toml::node& node) {
           return self.flag(node, self.options_.registered);
         }},
        {"warmups",
         [](Reader& self, const toml::node& node) {
           return self.number(node, self.options_.warmups, 0);
         }},
        {"iterations",
         [](Reader& self, const toml::node& node) {
           return self.number(node, self.options_.iterations, 1);
         }},
        {"batches",
         [](Reader& self, const toml::node& node) {
           return self.number(node, self.options_.batches, 1);
         }},
        {"mode", [](Reader& self, const toml::node& node) { return self.timing_mode(node); }},
        {"interval", [](Reader& self, const toml::node& node) { return self.interval(node); }},
        {"max_batches",
         [](Reader& self, const toml::node& node) {
           return self.number(node, self.options_.max_batches, 1);
         }},
        {"repeat",
         [](Reader& self, const toml::node& node) {
           return self.number(node, self.options_.repeats, 1);
         }},
        {"seed", [](Reader& self,
                    const toml::node& node) { return self.number(node, self.options_.seed, 0); }},
        {"budget",
         [](Reader& self, const toml::node& node) {
           return self.duration(node, self.options_.budget_ns);
         }},
        {"cell_timeout",
         [](Reader& self, const toml::node& node) {
           return self.duration(node, self.options_.cell_deadline_ns);
         }},
        {"startup_timeout",
         [](Reader& self, const toml::node& node) {
           return self.duration(node, self.options_.startup_deadline_ns);
         }},
        {"no_sweep",
         [](Reader& self, const toml::node& node) {
           return self.flag(node, self.options_.no_sweep);
         }},
        {"override",
         [](Reader& self, const toml::node& node) { return self.override_names(node); }},
        {"axis", [](Reader& self, const toml::node& node) { return self.axes(node); }},
        {"setting", [](Reader& self, const toml::node& node) { return self.combinations(node); }},
        {"rank_set", [](Reader& self, const toml::node& node) { return self.rank_settings(node); }},
        {"workload", [](Reader& self, const toml::node& node) { return self.workload(node); }},
        {"libraries", [](Reader& self, const toml::node& node) { return self.libraries(node); }},
        {"compare_libraries",
         [](Reader& self, const toml::node& node) { return self.compared_libraries(node); }},
    };
    return table;
  }

  Result<void> plain_text(const toml::node& node, std::optional<std::string>& into) const {
    NCCLPROBE_TRY_ASSIGN(auto value, text(node, "the value"));
    if (!into)
      into = std::move(value);
    return {};
  }
  Result<void> timing_mode(const toml::node& node) const {
    NCCLPROBE_TRY_ASSIGN(const auto value, text(node, "mode"));
    auto parsed = model::parse_enum<model::TimingMode>(value, "timing mode");
    if (!parsed)
      return wrong(node, parsed.error());
    if (!options_.mode)
      options_.mode = *parsed;
    return {};
  }
  Result<void> interval(const toml::node& node) const {
    NCCLPROBE_TRY_ASSIGN(const auto value, text(node, "interval"));
    auto parsed = parse_share(value);
    if (!parsed)
      return wrong(node, parsed.error());
    if (!options_.target_interval)
      options_.target_interval = *parsed;
    return {};
  }
  Result<void> prepare(const toml::node& node) const {
    NCCLPROBE_TRY_ASSIGN(const auto value, text(node, "prepare"));
    if (value != "auto" && value != "on" && value != "off")
      return wrong(node, "prepare is auto, on or off");
    if (!options_.prepare)
      options_.prepare = value;
    return {};
  }
  Result<void> size_list(const toml::node& node) const {
    NCCLPROBE_TRY_ASSIGN(const auto value, text(node, "sizes"));
    auto parsed = base::parse_sizes(value);
    if (!parsed)
      return wrong(node, parsed.error());
    if (!options_.sizes)
      options_.sizes = std::move(*parsed);
    return {};
  }
  Result<void> flag(const toml::node& node, bool& into) const {
    auto value = node.value_exact<bool>();
    if (!value)
      return wrong(node, "expected true or false");
    into = into || *value;
    return {};
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
    if (auto value = node.value_exact<bool>())
      return std::string(*value ? "on" : "off");
    const toml::array* array = node.as_array();
    if (array == nullptr || array->empty())
      return wrong(node, "expected a string, a whole number, true, false, or an array of these");
    std::string list;
    for (const toml::node& element : *array) {
      NCCLPROBE_TRY_ASSIGN(const std::string one, in_words(element));
      list += (list.empty() ? "" : ",") + one;
    }
    return list;
  }
  Result<void> workload(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr)
      return wrong(node, "write [workload]");
    for (const auto& [key, value] : *table) {
      auto option = std::ranges::find(workload_options(), key.str(), &WorkloadOption::key);
      if (option == workload_options().end())
        return wrong(value, fmt::format("'{}' is not a key of [workload]", key.str()));
      NCCLPROBE_TRY_ASSIGN(const std::string words, in_words(value));
      WorkloadOptions unread;
      bool said = !option->write(said_.workload).empty();
      if (auto read = option->read(said ? unread : options_.workload, words); !read)
        return wrong(value, read.error());
    }
    return {};
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
  try {
    toml::table table = toml::parse(text, name);
    return Reader(name, options).read(table);
  } catch (const toml::parse_error& error) {
    return fail(Errc::invalid_argument, "{}:{}: {}", name, error.source().begin.line,
                error.description());
  }
}

Result<void> apply_plan_file(const std::filesystem::path& path, RunOptions& options) {
  NCCLPROBE_TRY_ASSIGN(const std::string content, base::read_file(path));
  return apply_plan_text(content, path.string(), options);
}

} // namespace ncclprobe::cli
