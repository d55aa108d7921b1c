// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/fleet/fleet_baseline.h"

#include "analysis/fleet/judgement.h"
#include "base/printable.h"
#include "launch/cli/files/report_files.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ncclprobe::cli {
namespace {

using namespace analysis::fleet;

// The nodes of a group in a trial; absent: it measured something else.
std::optional<int> group_of(const model::TrialSpec& trial, const FleetMeasurement& what,
                            int ranks_per_node) {
  if (trial.launch_ranks.empty() || trial.cells.empty())
    return std::nullopt;
  const model::CellLabel& label = trial.cells.front().label;
  const auto* collective = label.collective();
  if (collective == nullptr || collective->collective != what.collective ||
      label.bytes != what.bytes)
    return std::nullopt;
  const int group = trial.ranks / collective->split / ranks_per_node;
  return trial.ranks == collective->split * group * ranks_per_node ? std::optional(group)
                                                                   : std::nullopt;
}

// The groups of a trial, from the ranks that ran it. None if these are not of such nodes.
std::vector<Group> groups_of(const FleetNodes& nodes, const model::TrialRecord& trial, int group) {
  std::vector<Group> groups;
  const auto step = static_cast<std::size_t>(group * nodes.ranks_per_node);
  const std::vector<int>& ranks = trial.spec.launch_ranks;
  for (std::size_t first = 0; first + step <= ranks.size(); first += step) {
    Group& one = groups.emplace_back();
    for (int member = 0; member < group; ++member)
      one.push_back(nodes.node_of(ranks[first + static_cast<std::size_t>(member)]));
  }
  auto is_whole = [&](int node) {
    return node >= 0 && std::ssize(nodes.ranks[static_cast<std::size_t>(node)]) ==
                            std::ptrdiff_t{nodes.ranks_per_node};
  };
  for (const Group& one : groups)
    if (!std::ranges::all_of(one, is_whole))
      return {};
  return fleet_ranks(nodes, groups) == ranks ? groups : std::vector<Group>{};
}

std::vector<std::optional<int>> same_names(const FleetNodes& now, const FleetNodes& then) {
  std::map<std::string, std::vector<int>> by_name;
  for (int node = 0; node < then.count(); ++node)
    by_name[then.names[static_cast<std::size_t>(node)]].push_back(node);
  std::map<std::string, int> uses;
  for (const std::string& name : now.names)
    ++uses[name];
  std::vector<std::optional<int>> nodes;
  for (const std::string& name : now.names) {
    const auto found = by_name.find(name);
    nodes.push_back(found != by_name.end() && found->second.size() == 1 && uses[name] == 1
                        ? std::optional(found->second.front())
                        : std::nullopt);
  }
  return nodes;
}

} // namespace

base::Result<FleetBaseline> read_fleet_baseline(const std::filesystem::path& file,
                                                const CheckOptions& limits,
                                                const FleetMeasurement& what,
                                                const FleetNodes& nodes,
                                                std::optional<int> ranks_per_node) {
  NCCLPROBE_TRY_ASSIGN(const model::Run run, read_run_or_parts(file));
  NCCLPROBE_TRY_ASSIGN(const FleetNodes then, fleet_nodes(run.header, ranks_per_node));
  CheckOptions options = limits;
  options.nodes = then.count();
  options.rails = then.ranks_per_node;
  History history;
  for (const model::TrialRecord& trial : run.trials)
    if (group_of(trial.spec, what, then.ranks_per_node) == limits.group)
      for (Meeting& one : fleet_meetings(then, trial, groups_of(then, trial, limits.group), 0))
        if (!one.broken())
          history.meetings.push_back(std::move(one));
  if (history.meetings.empty() || then.ranks_per_node != nodes.ranks_per_node)
    return base::fail(base::Error{
        base::Errc::mismatch,
        fmt::format("{} is not a fleet check of the same collective, size, nodes per group and "
                    "ranks per node",
                    file.string()),
        "take the run file of `ncclprobe fleet check` with the same --collective, --size, --group "
        "and ranks of a node"});
  FleetBaseline baseline{file, judge(options, history), same_names(nodes, then)};
  if (std::ranges::none_of(baseline.nodes, &std::optional<int>::has_value))
    return base::fail(
        base::Error{base::Errc::mismatch,
                    fmt::format("{} is a fleet check of other nodes: {} and others", file.string(),
                                base::printable(then.names.front())),
                    "take the run file of a check of these nodes, or leave out --baseline"});
  return baseline;
}

std::vector<std::vector<std::optional<EarlierSpeed>>>
earlier_speeds(const FleetBaseline& baseline) {
  std::vector<std::vector<std::optional<EarlierSpeed>>> all;
  for (const auto& then : baseline.nodes) {
    auto& paths = all.emplace_back();
    if (!then)
      continue;
    for (const PathVerdict& path : baseline.judgement.nodes[static_cast<std::size_t>(*then)].paths)
      if (const auto& estimate = path.estimate)
        paths.emplace_back(EarlierSpeed{
            -std::log(estimate->ratio),
            std::log(estimate->interval.high / estimate->interval.low) / 2, estimate->meetings});
      else
        paths.emplace_back();
  }
  return all;
}

std::optional<BaselineComparison> compare_fleets(const FleetBaseline& baseline,
                                                 const CheckOptions& limits, const Judgement& now) {
  const Judgement& then = baseline.judgement;
  if (now.usual_ns.empty() || then.usual_ns.empty())
    return std::nullopt;
  const double slower = std::log(now.usual_ns.front() / then.usual_ns.front());
  const double error = 1.96 * std::hypot(now.usual_error, then.usual_error);
  return BaselineComparison{
      baseline.file.string(),
      std::exp(-slower),
      {std::exp(-slower - error), std::exp(-slower + error)},
      slower - error > tolerated_shift(limits),
      static_cast<int>(std::ranges::count(baseline.nodes, std::optional<int>()))};
}

} // namespace ncclprobe::cli
