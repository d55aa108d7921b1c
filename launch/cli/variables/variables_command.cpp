// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/variables/variables_command.h"

#include "analysis/report_value/report_value.h"
#include "base/enum_names.h"
#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/common_options.h"
#include "workload/nccl_values.h"
#include "workload/nccl_version.h"

#include <map>
#include <utility>

namespace ncclprobe::cli {
namespace {

using workload::Variable;

struct Row {
  std::string name;
  const Variable* variable = nullptr; // null: NCCL has no variable of this name
  std::optional<std::string> value;   // that was asked for
  workload::Judgement judgement;      // of the value
  std::string meaning;                // the judgement in words; empty: NCCL reads it as written
};

// Numbers that NCCL takes, its words, or else what kind of text it reads.
std::string values_text(const Variable& variable, int version) {
  const std::vector<std::string_view> words = workload::legal_words(variable, version);
  if (!words.empty() && variable.kind != workload::ValueKind::plugin)
    return fmt::format("{}", fmt::join(words, ", "));
  const workload::Limits any, limits = workload::legal_numbers(variable, version);
  if (limits.most < any.most)
    return fmt::format("{} to {}", limits.least, limits.most);
  if (limits.least > any.least)
    return fmt::format("{} or more", limits.least);
  return std::string(base::to_string(variable.kind));
}

Row row_of(const std::string& asked, int version) {
  const std::size_t end = std::min(asked.find('='), asked.size());
  Row row{asked.substr(0, end), workload::find_variable(asked.substr(0, end)), {}, {}, {}};
  const workload::NcclPlace place{.version = version, .looked_for = {}};
  const model::Setting setting{row.name, asked.substr(std::min(end + 1, asked.size()))};
  if (end == asked.size() && row.variable && is_read_by(*row.variable, version))
    return row;
  row.judgement = workload::judge(setting, {{setting.name, setting.value}}, place);
  row.meaning = workload::describe(setting, row.judgement, place);
  if (end < asked.size())
    row.value = setting.value;
  return row;
}

analysis::Report report_of(std::vector<Row> rows, int version) {
  using analysis::Value;
  analysis::TableOf<Row> table(std::move(rows));
  const auto of_variable = [](auto get) {
    return [get](const Row& row) { return row.variable ? Value(get(*row.variable)) : Value(); };
  };
  const auto release = [](int Variable::*member) {
    return [member](const Variable& variable) {
      const int number = variable.*member;
      return number == 0 ? Value() : Value(workload::nccl_version_text(number));
    };
  };
  table.add("variable", &Row::name).titled("variable").left();
  table.add("value", &Row::value).titled("value").left(24).if_any();
  table.add("kind", of_variable([](const Variable& one) { return one.kind; }));
  table
      .add("values",
           of_variable([version](const Variable& one) { return values_text(one, version); }))
      .titled("values")
      .left(27);
  table.add("scope", of_variable([](const Variable& one) { return one.scope; }));
  table.add("since", of_variable(release(&Variable::since))).titled("since").dispensable(1);
  table.add("until", of_variable(release(&Variable::until)))
      .titled("until")
      .if_any()
      .dispensable(2);
  table
      .add("reading",
           [](const Row& row) { return row.value ? Value(row.judgement.reading) : Value(); })
      .titled("read")
      .left()
      .if_any();
  table.add("meaning",
            [](const Row& row) { return row.meaning.empty() ? Value() : Value(row.meaning); });

  analysis::Section section{.key = "variables"};
  section.title =
      "Environment variables as NCCL " + workload::nccl_version_text(version) + " reads them";
  using Scope = workload::Scope;
  std::map<std::pair<bool, Scope>, std::vector<std::size_t>> rows_of; // the unknown names last
  for (std::size_t i = 0; i < table.rows().size(); ++i) {
    const Variable* one = table.rows()[i].variable;
    rows_of[{one == nullptr, one ? one->scope : Scope()}].push_back(i);
  }
  for (auto& [scope, of_scope] : rows_of) {
    if (!scope.first)
      section.add("", fmt::format("Acts on {}:", base::to_string(scope.second)), 2);
    section.blocks.emplace_back(
        analysis::View{.table = table.table(), .rows = std::move(of_scope)});
  }
  for (const Row& row : table.rows())
    if (!row.meaning.empty())
      section.blocks.emplace_back(analysis::Text{"", row.meaning});
  return {.sections = {section},
          .data = {{"schema", "ncclprobe.variables"},
                   {"schema_version", 1},
                   {"nccl", workload::nccl_version_text(version)},
                   {"variables", table.table()}},
          .rows = table.table()};
}

} // namespace

Usage variables_usage(VariablesOptions& into) {
  const Words<int> versions{
      [](const std::string& text) -> base::Result<int> {
        if (auto version = workload::parse_nccl_version(text))
          return *version;
        return base::fail(base::Errc::invalid_argument,
                          "'{}' is not a version of NCCL, such as 2.28.3", text);
      },
      [](int version) { return version == 0 ? "" : workload::nccl_version_text(version); },
      "2.28.3"};
  return {.name = "variables",
          .summary = "Explain the environment variables of NCCL and their values",
          .examples = {{"ncclprobe variables", "all variables that NCCL reads"},
                       {"ncclprobe variables NCCL_ALGO --nccl 2.19.3", "what this release accepts"},
                       {"ncclprobe variables NCCL_ALGO=Rng NCCL_MIN_CTAS=99",
                        "how NCCL reads these values"}},
          .exits = {{base::k_exit_failures, "NCCL rejects or misreads one of the values"}},
          .options = joined(
              {{repeated("variable", "NAME[=VALUE]", into.asked, text_words("NCCL_ALGO=Ring"),
                         "A variable, or a value to check; without one, all variables",
                         {.positional = true}),
                option("nccl", "VERSION", into.version, versions, "The NCCL release to explain",
                       {.initial = "the newest that ncclprobe knows"})},
               result_options(into, {"table", "json", "csv", "markdown", "html"})})};
}

int variables_command(const VariablesOptions& options) {
  if (auto possible = check_destination(options.output); !possible)
    return give_up(possible.error());
  const int version = options.version == 0 ? workload::k_newest_known_nccl : options.version;
  std::vector<Row> rows;
  for (const std::string& asked : options.asked)
    rows.push_back(row_of(asked, version));
  for (const Variable& variable : workload::nccl_variables())
    if (options.asked.empty() && is_read_by(variable, version))
      rows.push_back({.name = std::string(variable.name), .variable = &variable});
  const bool misread = std::ranges::any_of(
      rows, [](const Row& row) { return row.judgement.reading >= workload::Reading::limited; });
  return deliver(report_of(std::move(rows), version), options,
                 misread ? base::k_exit_failures : base::k_exit_ok);
}

} // namespace ncclprobe::cli
