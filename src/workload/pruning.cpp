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
  if (std::ranges::find(lines, line) == lines.end())
    lines.push_back(std::move(line));
}

std::optional<std::int64_t> number(const Variables& variables, const std::string& name) {
  auto found = variables.find(name);
  if (found == variables.end() || found->second.empty())
    return std::nullopt;
  return read_integer(found->second).value;
}

// Functions of the cell's timed operations that NCCL_ALGO and NCCL_PROTO affect.
std::set<std::string_view> functions_of(const Cell& cell) {
  std::set<std::string_view> functions;
  const Schedule& schedule = cell.schedule;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const Operation& operation = schedule.operations.at(i);
    if (auto* collective = std::get_if<CollectiveOp>(&operation.what))
      if (auto function = nccl_function(collective->collective))
        functions.insert(*function);
  }
  return functions;
}

} // namespace

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

Pruner::Pruner(SweepGround ground)
    : ground_(std::move(ground)), has_nccl_(ground_.backend == "nvidia") {
  if (ground_.places.empty())
    ground_.places.emplace_back();
}

Variables Pruner::with(const std::vector<Setting>& combination) const {
  Variables variables = ground_.environment;
  for (const Setting& setting : combination)
    variables[setting.name] = setting.value;
  return variables;
}

bool Pruner::is_overridden(const std::string& name) const {
  return std::ranges::find(ground_.overrides, name) != ground_.overrides.end();
}

// If hosts differ, the worst reading of them.
Pruner::Remark Pruner::worst_of(const Setting& setting, const Variables& variables,
                                const std::vector<NcclPlace>& places) const {
  Remark worst;
  for (const NcclPlace& place : places) {
    Judgement judgement = judge(setting, variables, place);
    if (judgement.reading > worst.judgement.reading)
      worst = {judgement, describe(setting, judgement, place)};
  }
  return worst;
}

// Without an NCCL here, this machine decides nothing: the plan may be for another one.
std::vector<NcclPlace> Pruner::places_to_refuse_by() const {
  if (has_nccl_)
    return ground_.places;
  NcclPlace anywhere;
  anywhere.version = ground_.places.front().version;
  return {anywhere};
}

Result<void> Pruner::check(const std::vector<Setting>& combination) {
  const std::vector<NcclPlace> places = places_to_refuse_by();
  for (const Setting& setting : combination) {
    Remark remark = worst_of(setting, with(combination), places);
    if (remark.judgement.reading < Reading::misspelt)
      continue;
    if (!can_be_overridden(setting.name))
      return fail(Error{Errc::invalid_argument, remark.text, ""});
    if (!is_overridden(setting.name))
      return fail(Error{Errc::invalid_argument, remark.text,
                        fmt::format("--override {} measures it anyway", setting.name)});
  }
  return {};
}

void Pruner::warn_of(const Setting& setting, const Variables& variables) {
  if (!setting.name.starts_with("NCCL_"))
    return;
  Remark remark = worst_of(setting, variables, ground_.places);
  if (!remark.text.empty())
    add_once(warnings_, remark.text);
  if (!has_nccl_)
    return add_once(
        warnings_,
        fmt::format(
            "{} has no effect on the {} backend, which does not use NCCL: expect no difference",
            setting.name, ground_.backend));
  const Variable* variable = find_variable(setting.name);
  // Without both, even the ranks of one host communicate over the network.
  bool forced = number(variables, "NCCL_P2P_DISABLE").value_or(0) != 0 &&
                number(variables, "NCCL_SHM_DISABLE").value_or(0) != 0;
  if (variable != nullptr && acts_on_network(variable->scope) && ground_.machine.nodes == 1 &&
      !forced)
    add_once(
        warnings_,
        fmt::format(
            "{} only affects network traffic, but all ranks are on one host: expect no difference",
            setting.name));
}

bool Pruner::keeps(const std::vector<Setting>& combination) {
  Variables variables = with(combination);
  std::string reason;
  if (has_nccl_) {
    reason = contradiction(variables);
    for (const Setting& setting : combination)
      if (Remark remark = worst_of(setting, variables, ground_.places);
          reason.empty() && remark.judgement.reading >= Reading::misread &&
          !is_overridden(setting.name))
        reason = remark.text;
  }
  if (!reason.empty()) {
    add_once(left_out_, fmt::format("{}: {}", label_of(combination), reason));
    return false;
  }
  warn_of(combination);
  return true;
}

void Pruner::warn_of(const std::vector<Setting>& combination) {
  for (const Setting& setting : combination)
    warn_of(setting, with(combination));
}

std::vector<Cell> Pruner::possible(const std::vector<Setting>& combination,
                                   const std::vector<Cell>& cells) {
  if (!has_nccl_ || ground_.ranks == 1)
    return cells;
  Variables variables = with(combination);
  std::vector<Cell> kept;
  for (const Cell& cell : cells) {
    std::string reason;
    for (std::string_view function : functions_of(cell))
      if (reason.empty())
        reason = why_impossible(function, variables, ground_.machine);
    if (reason.empty())
      kept.push_back(cell);
    else
      add_once(left_out_,
               fmt::format("{} with {}: {}", cell.label.workload(), label_of(combination), reason));
  }
  return kept;
}

} // namespace ncclprobe::workload
