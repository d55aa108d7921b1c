// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// docs/nccl-variables.md is the table that the program judges by.
#include "support/catch.h"
#include "support/golden.h"
#include "workload/nccl_name_table.h"
#include "workload/nccl_variables.h"

#include <fmt/format.h>

using namespace ncclprobe;
using namespace ncclprobe::workload;

namespace {

std::string code(std::string_view text) {
  return fmt::format("`{}`", text);
}

std::string listed_words(const Variable& variable) {
  std::string text;
  for (std::string_view word : legal_words(variable)) {
    text += (text.empty() ? "" : ", ") + std::string(word);
    if (int since = word_since(variable, word).value_or(0); since != 0)
      text += fmt::format(" ({})", nccl_version_text(since));
  }
  return text;
}

std::string outside(Outside what) {
  constexpr const char* k_texts[] = {"not checked", "nearest limit", "default", "same as 1",
                                     "same as 0"};
  return k_texts[static_cast<int>(what)];
}

std::string limits_text(const Limits& limits) {
  if (limits.most == Limits{}.most)
    return limits.least == Limits{}.least ? "any integer" : fmt::format("{} or more", limits.least);
  return fmt::format("{} to {}", limits.least, limits.most);
}

std::string others_of_number(const Limits& limits) {
  if (limits.least == Limits{}.least)
    return "-";
  if (limits.below == limits.above || limits.most == Limits{}.most)
    return outside(limits.below);
  return fmt::format("below: {}; above: {}", outside(limits.below), outside(limits.above));
}

std::pair<std::string, std::string> values_of(const Variable& variable) {
  switch (variable.kind) {
  case ValueKind::boolean:
  case ValueKind::integer:
    return {limits_text(variable.limits), others_of_number(variable.limits)};
  case ValueKind::flag:
    return {fmt::format("1, T, TRUE, 0, F, FALSE, case-insensitive{}",
                        variable.since < 23003 ? "; before 2.30.3 an integer" : ""),
            "default"};
  case ValueKind::level:
    return {listed_words(variable) + ", case-sensitive; or a number, 0 or more", "default"};
  case ValueKind::word:
  case ValueKind::any_case:
    return {listed_words(variable) +
                (variable.kind == ValueKind::word ? ", case-sensitive" : ", case-insensitive"),
            variable.otherwise.empty() ? "default" : std::string(variable.otherwise)};
  case ValueKind::words:
    if (variable.name == "NCCL_CTA_POLICY")
      return {"0 to 2; since 2.29.2 also words joined by `\\|`: " + listed_words(variable),
              "an unknown word is ignored; another number means DEFAULT"};
    return {"a list of " + listed_words(variable),
            "an unknown word is ignored; since 2.30.3 the whole list is ignored"};
  case ValueKind::algorithms:
  case ValueKind::protocols:
    return {"[function:][^]list[;function:list...] of " + listed_words(variable),
            "**refused** since 2.24.3; earlier releases ignore the word"};
  case ValueKind::network_name:
    return {"IB, Socket, or a plugin's name; case-insensitive", "**refused**"};
  case ValueKind::plugin:
    return {fmt::format("a path, NAME for {}-NAME.so, none, STATIC_PLUGIN", variable.words),
            "NCCL continues without it"};
  case ValueKind::file:
    return {"a file",
            variable.name == "NCCL_GRAPH_FILE" ? "**refused**" : "NCCL continues without it"};
  case ValueKind::interfaces:
    return {"interface names or prefixes; ^ excludes them, = matches exact names only",
            "**refused** if none matches"};
  case ValueKind::address:
    return {"HOST:PORT, [IPv6]:PORT", variable.name == "NCCL_COMM_ID" ? "**refused**" : "-"};
  default:
    return {"text", "-"};
  }
}

std::string versions(const Variable& variable) {
  std::string since = variable.since == 0 ? "2.10" : nccl_version_text(variable.since);
  return variable.until == 0
             ? since
             : fmt::format("{}, removed in {}", since, nccl_version_text(variable.until));
}

std::string document() {
  std::string text = fmt::format(
      "# NCCL environment variables that ncclprobe knows\n\n"
      "`--set`, `plan --dry-run`, `doctor` and the check before every run use this table to check "
      "variables. A test generates this page; do not edit it by hand. The table was compared with "
      "the sources of NCCL 2.10.3 to 2.30.7. Later entries, up to {}, come from a copy of NCCL's "
      "sources in another project. \"2.10\" means 2.10 or older.\n\n"
      "- A **refused** value makes every communicator fail. ncclprobe starts nothing with such a "
      "value.\n"
      "- If a variable takes an integer, NCCL silently reads other text as the number at its "
      "beginning, or as 0 (`8M` is 8, `yes` is 0). An integer that does not fit in 64 bits becomes "
      "the default.\n"
      "- An empty value counts as not set. Exceptions: an empty NCCL_NET, NCCL_COMM_ID or "
      "NCCL_GRAPH_FILE is refused. NCCL_HOSTID, NCCL_TOPO_FILE, NCCL_DEBUG_SUBSYS, "
      "NCCL_NET_MERGE_LEVEL and the plugin lists accept it as a value.\n"
      "- A number in parentheses is the release that added a word. Before 2.25.1 the limit was 32 "
      "channels, not 64.\n"
      "- \"Any other value\": what NCCL does with it. \"Not checked\": it uses the value as it is. "
      "\"Nearest limit\", \"default\", \"same as 1\": it uses that value instead.\n\n"
      "| variable | since | values | any other value |\n|---|---|---|---|\n",
      nccl_version_text(k_newest_known_nccl));
  for (const Variable& variable : nccl_variables()) {
    auto [values, others] = values_of(variable);
    text += fmt::format("| {} | {} | {} | {} |\n", code(variable.name), versions(variable), values,
                        others);
  }
  text += "\n## Names that NCCL does not read\n\n"
          "A `*` stands for any ending that makes no name of the table above.\n\n"
          "| name | what it is |\n|---|---|\n";
  for (const auto& one : table::k_retired)
    text += fmt::format("| {} | only releases before 2.10 read it; closest variable today: {} |\n",
                        code(one.name), code(one.better));
  for (const auto& one : table::k_other_names)
    text += fmt::format("| {} | NCCL's name for it is {} |\n", code(one.name), code(one.better));
  for (const auto& one : table::k_fictions)
    text += fmt::format("| {} | {} |\n", code(one.name), one.truth);
  for (std::string_view name : table::k_of_pytorch)
    text += fmt::format("| {} | a PyTorch variable; use {} |\n", code(name),
                        code(fmt::format("TORCH_{}", name)));
  for (const auto& one : table::k_foreign)
    text += fmt::format("| {} | read by {} |\n", code(fmt::format("{}*", one.prefix)), one.whose);
  for (std::string_view name : table::k_of_builds)
    text += fmt::format("| {} | set by builds and container images |\n", code(name));
  return text;
}

} // namespace

TEST_CASE("docs/nccl-variables.md is the table of the program") {
  support::check_golden("../../docs/nccl-variables.md", document());
}
