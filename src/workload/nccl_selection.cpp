// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/nccl_selection.h"

#include "base/similar_words.h"
#include "base/split.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace ncclprobe::workload {
namespace {

using base::same_word;
using base::split;
using namespace std::string_view_literals;

// As NCCL spells them (init.cc).
constexpr std::array k_functions{"Broadcast"sv, "Reduce"sv, "AllGather"sv, "ReduceScatter"sv,
                                 "AllReduce"sv};

// Earlier releases had no functions, and ignored unknown words.
constexpr int k_strict_since = 22403;

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::any_of(words, [&](std::string_view one) { return same_word(one, word); });
}

std::string_view trimmed(std::string_view text) {
  std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  std::size_t last = text.find_last_not_of(" \t");
  return text.substr(first, last == std::string_view::npos ? 0 : last + 1 - first);
}

// "allreduce:tree,ring". NCCL ignores text after a second colon.
struct Entry {
  std::string_view text;
  std::string_view function; // empty: all
  std::string_view list;
  std::string_view ignored;
};

std::vector<Entry> entries_of(std::string_view value) {
  std::vector<Entry> entries;
  for (std::string_view text : split(value, ';')) {
    std::vector<std::string_view> parts = split(text, ':');
    Entry& entry = entries.emplace_back(Entry{text, {}, {}, {}});
    if (parts.size() == 1)
      entry.list = parts[0];
    if (parts.size() > 1) {
      entry.function = parts[0];
      entry.list = parts[1];
    }
    if (parts.size() > 2)
      entry.ignored = text.substr(parts[2].data() - text.data());
  }
  return entries;
}

std::string_view without_caret(std::string_view list) {
  return list.starts_with('^') ? list.substr(1) : list;
}

// `value` with the most similar word in place of `token`; empty if there is none.
std::string repaired(std::string_view value, std::string_view token,
                     std::span<const std::string_view> words) {
  std::string_view better = base::most_similar(trimmed(token), words);
  if (better.empty())
    return "";
  std::string text(value);
  return text.replace(static_cast<std::size_t>(token.data() - value.data()), token.size(), better);
}

SelectionProblem unknown_word(std::string_view value, std::string_view token,
                              std::span<const std::string_view> words) {
  return {true, fmt::format("'{}' is not one of {}", token, fmt::join(words, ", ")),
          repaired(value, token, words), fmt::format("Unrecognized element token \"{}\"", token)};
}

std::optional<SelectionProblem> strict_problem(std::span<const std::string_view> words,
                                               std::string_view value) {
  for (const Entry& entry : entries_of(value)) {
    bool first = entry.text.data() == value.data();
    if (entry.list.empty())
      return SelectionProblem{true, fmt::format("'{}' names nothing", entry.text), "", ""};
    if (entry.function.empty() && !first)
      return SelectionProblem{
          true, fmt::format("only the first entry may lack a function: '{}'", entry.text), "",
          "All entries except the first must have a prefix"};
    if (!entry.function.empty() && !is_one_of(k_functions, entry.function))
      return SelectionProblem{
          true,
          fmt::format("'{}' is not a function ({})", entry.function, fmt::join(k_functions, ", ")),
          repaired(value, entry.function, k_functions),
          fmt::format("Unrecognized prefix token \"{}\"", entry.function)};
    for (std::string_view element : split(without_caret(entry.list), ','))
      if (!is_one_of(words, element))
        return unknown_word(value, element, words);
  }
  for (const Entry& entry : entries_of(value))
    if (!entry.ignored.empty())
      return SelectionProblem{false, fmt::format("NCCL ignores ':{}'", entry.ignored), "", ""};
  return std::nullopt;
}

std::optional<SelectionProblem> lenient_problem(std::span<const std::string_view> words,
                                                std::string_view value) {
  for (std::string_view element : split(without_caret(value), ','))
    if (!is_one_of(words, element)) {
      SelectionProblem problem = unknown_word(value, element, words);
      problem.fatal = false;
      problem.why += ", and this NCCL ignores it";
      problem.log_words.clear();
      return problem;
    }
  return std::nullopt;
}

// Later entries replace earlier ones for the same function. A function that no entry names keeps
// all words.
Result<std::vector<std::string_view>> allowed(std::string_view value, std::string_view function,
                                              const char* variable) {
  std::vector<std::string_view> words = legal_words(*find_variable(variable));
  if (auto problem = strict_problem(words, value); problem && problem->fatal)
    return fail(Errc::invalid_argument, "{}", problem->why);
  std::vector<std::string_view> result = words;
  for (const Entry& entry : entries_of(value)) {
    if (!entry.function.empty() && !same_word(entry.function, function))
      continue;
    std::vector<std::string_view> named = split(without_caret(entry.list), ',');
    bool exclude = entry.list.starts_with('^');
    result.clear();
    std::ranges::copy_if(words, std::back_inserter(result),
                         [&](std::string_view one) { return is_one_of(named, one) != exclude; });
  }
  return result;
}

std::string_view value_of(const Variables& variables, const std::string& name) {
  auto found = variables.find(name);
  return found == variables.end() ? std::string_view{} : std::string_view(found->second);
}

bool function_knows(std::string_view function, std::string_view algorithm) {
  if (function == "AllReduce")
    return algorithm != "PAT";
  if (function == "AllGather" || function == "ReduceScatter")
    return algorithm == "Ring" || algorithm == "NVLS" || algorithm == "CollNetDirect" ||
           algorithm == "PAT";
  return algorithm == "Ring";
}

// Why this algorithm cannot be used; empty if it can.
std::string against(std::string_view algorithm, std::string_view function,
                    const std::vector<std::string_view>& protocols, const Variables& variables,
                    const MachineShape& machine) {
  if (!function_knows(function, algorithm))
    return fmt::format("{} does not support {}", algorithm, function);
  if (protocols.empty())
    return "no protocol is left";
  bool any_protocol = algorithm == "Ring" || algorithm == "Tree";
  if (!any_protocol && std::ranges::find(protocols, "Simple") == protocols.end())
    return fmt::format("{} works with protocol Simple only", algorithm);
  if (algorithm == "NVLSTree" && machine.nodes == 1)
    return "NVLSTree needs more than one node";
  if (algorithm.starts_with("NVLS")) {
    if (machine.nvls == false)
      return fmt::format("{} needs NVLink switches and GPUs of compute capability 9.0 or more",
                         algorithm);
    std::string_view enabled = value_of(variables, "NCCL_NVLS_ENABLE");
    if (!enabled.empty() && read_integer(enabled).value == 0)
      return fmt::format("NCCL_NVLS_ENABLE={} switches {} off", enabled, algorithm);
  }
  if (algorithm == "PAT" && machine.ranks_per_node > 1 &&
      read_integer(value_of(variables, "NCCL_PAT_ENABLE")).value != 1)
    return "PAT needs one GPU per node, or NCCL_PAT_ENABLE=1";
  if (algorithm.starts_with("CollNet") &&
      read_integer(value_of(variables, "NCCL_COLLNET_ENABLE")).value == 0)
    return fmt::format("{} needs NCCL_COLLNET_ENABLE=1 and a plugin for it", algorithm);
  return "";
}

} // namespace

std::optional<SelectionProblem> selection_problem(const Variable& variable, std::string_view value,
                                                  int version) {
  std::vector<std::string_view> words = legal_words(variable, version);
  if (version != 0 && version < k_strict_since)
    return lenient_problem(words, value);
  return strict_problem(words, value);
}

std::optional<std::string_view> nccl_function(model::Collective collective) {
  using enum model::Collective;
  switch (collective) {
  case all_reduce:
    return "AllReduce";
  case all_gather:
    return "AllGather";
  case reduce_scatter:
    return "ReduceScatter";
  case broadcast:
    return "Broadcast";
  case reduce:
    return "Reduce";
  default:
    return std::nullopt;
  }
}

Result<std::vector<std::string_view>> allowed_algorithms(std::string_view value,
                                                         std::string_view function) {
  return allowed(value, function, "NCCL_ALGO");
}

Result<std::vector<std::string_view>> allowed_protocols(std::string_view value,
                                                        std::string_view function) {
  return allowed(value, function, "NCCL_PROTO");
}

std::string why_impossible(std::string_view function, const Variables& variables,
                           const MachineShape& machine) {
  std::string_view algorithm_value = value_of(variables, "NCCL_ALGO");
  std::string_view protocol_value = value_of(variables, "NCCL_PROTO");
  auto algorithms = allowed_algorithms(algorithm_value, function);
  if (!algorithms)
    return fmt::format("NCCL would refuse NCCL_ALGO={}: {}", algorithm_value,
                       algorithms.error().message);
  auto protocols = allowed_protocols(protocol_value, function);
  if (!protocols)
    return fmt::format("NCCL would refuse NCCL_PROTO={}: {}", protocol_value,
                       protocols.error().message);
  std::vector<std::string> reasons;
  for (std::string_view algorithm : *algorithms) {
    std::string reason = against(algorithm, function, *protocols, variables, machine);
    if (reason.empty())
      return "";
    if (std::ranges::find(reasons, reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  std::string text = fmt::format("NCCL has no algorithm left for {}", function);
  if (reasons.empty())
    return text + ": no algorithm is allowed";
  for (std::size_t i = 0; i < reasons.size(); ++i)
    text += (i == 0 ? ": " : "; ") + reasons[i];
  return text;
}

} // namespace ncclprobe::workload
