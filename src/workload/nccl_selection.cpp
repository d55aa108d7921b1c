// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/nccl_selection.h"

#include "workload/nccl_variables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace ncclprobe::workload {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using namespace std::string_view_literals;

// As NCCL spells and orders them (graph/tuning.cc, nccl_common.h).
constexpr std::array k_algorithms{
    "Tree"sv, "Ring"sv, "CollnetDirect"sv, "CollnetChain"sv, "NVLS"sv, "NVLSTree"sv, "PAT"sv};
constexpr std::array k_protocols{"LL"sv, "LL128"sv, "Simple"sv};
constexpr std::array k_functions{"Broadcast"sv, "Reduce"sv, "AllGather"sv, "ReduceScatter"sv,
                                 "AllReduce"sv};

// Parts of `text` between separators; empty ones are skipped, as strtok does.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0)
      parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (std::string_view word : words)
    text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

// Later entries replace what earlier ones said of the same function. A function that no entry names
// keeps all words.
Result<std::vector<std::string_view>> allowed(std::string_view value, std::string_view function,
                                              std::span<const std::string_view> words) {
  std::vector<std::string_view> result(words.begin(), words.end());
  bool first = true;
  for (std::string_view entry : split(value, ';')) {
    std::size_t colon = entry.find(':');
    bool has_function = colon != std::string_view::npos;
    if (!has_function && !first)
      return fail(Errc::invalid_argument, "only its first entry may lack a function: '{}'", entry);
    first = false;
    std::string_view name = has_function ? entry.substr(0, colon) : std::string_view{};
    if (has_function && std::none_of(k_functions.begin(), k_functions.end(),
                                     [&](std::string_view one) { return same_word(one, name); }))
      return fail(Errc::invalid_argument, "'{}' is no function ({})", name, listed(k_functions));
    std::string_view list = has_function ? entry.substr(colon + 1) : entry;
    bool exclude = list.starts_with('^');
    if (exclude)
      list.remove_prefix(1);
    std::vector<std::string_view> named;
    for (std::string_view element : split(list, ',')) {
      auto known = std::find_if(words.begin(), words.end(),
                                [&](std::string_view one) { return same_word(one, element); });
      if (known == words.end())
        return fail(Errc::invalid_argument, "'{}' is none of {}", element, listed(words));
      named.push_back(*known);
    }
    if (has_function && !same_word(name, function))
      continue;
    result.clear();
    std::copy_if(words.begin(), words.end(), std::back_inserter(result), [&](std::string_view one) {
      return (std::find(named.begin(), named.end(), one) != named.end()) != exclude;
    });
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
    return algorithm == "Ring" || algorithm == "NVLS" || algorithm == "CollnetDirect" ||
           algorithm == "PAT";
  return algorithm == "Ring";
}

// Why this algorithm cannot be taken; empty if it can.
std::string against(std::string_view algorithm, std::string_view function,
                    const std::vector<std::string_view>& protocols, const Variables& variables,
                    const Machine& machine) {
  if (!function_knows(function, algorithm))
    return fmt::format("{} is not done by {}", function, algorithm);
  if (protocols.empty())
    return "no protocol is left";
  bool any_protocol = algorithm == "Ring" || algorithm == "Tree";
  if (!any_protocol && std::find(protocols.begin(), protocols.end(), "Simple") == protocols.end())
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
    return "PAT needs one GPU a node, or NCCL_PAT_ENABLE=1";
  if (algorithm.starts_with("Collnet") &&
      read_integer(value_of(variables, "NCCL_COLLNET_ENABLE")).value == 0)
    return fmt::format("{} needs NCCL_COLLNET_ENABLE=1 and a plugin for it", algorithm);
  return "";
}

} // namespace

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
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
  return allowed(value, function, k_algorithms);
}

Result<std::vector<std::string_view>> allowed_protocols(std::string_view value,
                                                        std::string_view function) {
  return allowed(value, function, k_protocols);
}

std::string why_impossible(std::string_view function, const Variables& variables,
                           const Machine& machine) {
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
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  std::string text = fmt::format("NCCL has no way left to do {}", function);
  if (reasons.empty())
    return text + ": no algorithm is allowed";
  for (std::size_t i = 0; i < reasons.size(); ++i)
    text += (i == 0 ? ": " : "; ") + reasons[i];
  return text;
}

} // namespace ncclprobe::workload
