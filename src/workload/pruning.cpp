// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/pruning.h"

#include "workload/nccl_variables.h"

#include <algorithm>
#include <set>

namespace ncclprobe::workload {
namespace {

using namespace model;

constexpr std::int64_t k_most_sockets = 64; // of one connection, net_socket.cc

void add_once(std::vector<std::string>& lines, std::string line) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end())
    lines.push_back(std::move(line));
}

std::optional<std::int64_t> number(const Variables& variables, const std::string& name) {
  auto found = variables.find(name);
  if (found == variables.end() || found->second.empty())
    return std::nullopt;
  return read_integer(found->second).value;
}

// What two variables together make impossible; empty if nothing.
std::string contradiction(const Variables& variables) {
  auto least = number(variables, "NCCL_MIN_CTAS");
  auto most = number(variables, "NCCL_MAX_CTAS");
  if (least && most && *least > *most)
    return fmt::format("NCCL_MIN_CTAS={} is more than NCCL_MAX_CTAS={}", *least, *most);
  auto sockets = number(variables, "NCCL_NSOCKS_PERTHREAD");
  auto threads = number(variables, "NCCL_SOCKET_NTHREADS");
  if (sockets && threads && *sockets > 0 && *threads > 0 && *sockets * *threads > k_most_sockets)
    return fmt::format("NCCL_NSOCKS_PERTHREAD={} times NCCL_SOCKET_NTHREADS={} is more than {} "
                       "sockets, and NCCL would take fewer",
                       *sockets, *threads, k_most_sockets);
  return "";
}

// Functions of the cell's timed operations that NCCL_ALGO and NCCL_PROTO bear on.
std::set<std::string_view> functions_of(const Cell& cell) {
  std::set<std::string_view> functions;
  const Schedule& schedule = cell.schedule;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const Operation& operation = schedule.operations.at(static_cast<std::size_t>(i));
    if (auto* collective = std::get_if<CollectiveOp>(&operation.what))
      if (auto function = nccl_function(collective->collective))
        functions.insert(*function);
  }
  return functions;
}

} // namespace

Pruner::Pruner(std::string backend, int ranks, Machine machine, Variables environment)
    : rules_apply_(backend == "nvidia"), ranks_(ranks), machine_(machine),
      environment_(std::move(environment)) {
  if (environment_.contains("NCCL_HOSTID")) { // NCCL's nodes are no longer the hosts
    machine_.nodes = 0;
    machine_.ranks_per_node = 0;
  }
}

Variables Pruner::with(const std::vector<Setting>& combination) const {
  Variables variables = environment_;
  for (const Setting& setting : combination)
    variables[setting.name] = setting.value;
  return variables;
}

std::string Pruner::against(const Setting& setting) {
  if (const RetiredVariable* retired = find_retired_variable(setting.name))
    return fmt::format("NCCL no longer reads {}; nearest to it is {}", setting.name,
                       retired->replacement);
  const Variable* variable = find_variable(setting.name);
  if (variable == nullptr || setting.value.empty())
    return "";
  IntegerReading reading = read_integer(setting.value);
  if (reads_integer(*variable) && !reading.whole)
    return fmt::format("'{}' is not a number: NCCL would read {} as {} without saying so",
                       setting.value, setting.name, reading.value);
  if (variable->kind == ValueKind::level && !reading.whole &&
      !is_word_of(variable->words, setting.value))
    return fmt::format("NCCL would ignore {}={} without saying so; it knows {}, in capitals",
                       setting.name, setting.value, variable->words);
  return "";
}

void Pruner::warn_of(const Setting& setting, const Variables& variables) {
  const Variable* variable = find_variable(setting.name);
  if (variable == nullptr) {
    if (!setting.name.starts_with("NCCL_"))
      return;
    auto nearest = nearest_variable(setting.name);
    add_once(warnings_,
             fmt::format("{} is not a name that NCCL reads{}; it is measured all the same, because "
                         "plugins read names of their own",
                         setting.name,
                         nearest ? fmt::format(" (did you mean {}?)", *nearest) : ""));
    return;
  }
  if (setting.value.empty())
    add_once(warnings_, fmt::format("{} is empty: NCCL takes it as not set", setting.name));
  std::int64_t value = read_integer(setting.value).value;
  if (!setting.value.empty() && is_outside(*variable, value))
    add_once(warnings_, fmt::format("{}={} is outside of what NCCL documents; it will take the "
                                    "nearest legal value or ignore it",
                                    setting.name, setting.value));
  // Without both of these even one host's ranks talk over the network.
  bool forced = number(variables, "NCCL_P2P_DISABLE").value_or(0) != 0 &&
                number(variables, "NCCL_SHM_DISABLE").value_or(0) != 0;
  if (acts_on_network(variable->scope) && machine_.nodes == 1 && !forced)
    add_once(warnings_, fmt::format("{} acts on what crosses a network, and all ranks are on one "
                                    "host: expect no difference",
                                    setting.name));
}

bool Pruner::keeps(const std::vector<Setting>& combination) {
  if (!rules_apply_)
    return true;
  Variables variables = with(combination);
  std::string reason = contradiction(variables);
  for (const Setting& setting : combination)
    if (reason.empty())
      reason = against(setting);
  // Unknown words end every communicator, whatever it is for.
  for (auto [name, allowed] :
       {std::pair("NCCL_ALGO", &allowed_algorithms), std::pair("NCCL_PROTO", &allowed_protocols)})
    if (auto found = variables.find(name); reason.empty() && found != variables.end())
      if (auto words = allowed(found->second, "AllReduce"); !words)
        reason = fmt::format("NCCL would refuse it: {}", words.error().message);
  if (!reason.empty()) {
    add_once(left_out_, fmt::format("{}: {}", label_of(combination), reason));
    return false;
  }
  for (const Setting& setting : combination)
    warn_of(setting, variables);
  return true;
}

std::vector<Cell> Pruner::possible(const std::vector<Setting>& combination,
                                   const std::vector<Cell>& cells) {
  if (!rules_apply_ || ranks_ == 1)
    return cells;
  Variables variables = with(combination);
  std::vector<Cell> kept;
  for (const Cell& cell : cells) {
    std::string reason;
    for (std::string_view function : functions_of(cell))
      if (reason.empty())
        reason = why_impossible(function, variables, machine_);
    if (reason.empty())
      kept.push_back(cell);
    else
      add_once(left_out_,
               fmt::format("{} with {}: {}", cell.label.workload, label_of(combination), reason));
  }
  return kept;
}

} // namespace ncclprobe::workload
