// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/fleet/fleet_baseline.h"

#include "analysis/fleet/judgement.h"
#include "launch/cli/files/report_files.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::cli {
namespace {

using namespace analysis::fleet;

// The groups of a trial, from the ranks that ran it.
std::vector<Group> groups_of(const FleetNodes& nodes, const model::TrialRecord& trial, int group) {
  std::vector<Group> groups;
  const auto step = static_cast<std::size_t>(group * nodes.ranks_per_node);
  const std::vector<int>& ranks = trial.spec.launch_ranks;
  for (std::size_t first = 0; first + step <= ranks.size(); first += step) {
    Group& one = groups.emplace_back();
    for (int member = 0; member < group; ++member)
      one.push_back(nodes.node_of(ranks[first + static_cast<std::size_t>(member)]));
  }
  return groups;
}

bool measured_the_same(const model::TrialSpec& trial, const FleetMeasurement& what, int group,
                       int ranks_per_node) {
  if (trial.launch_ranks.empty() || trial.cells.empty())
    return false;
  const model::CellLabel& label = trial.cells.front().label;
  return label.collective() != nullptr && label.collective()->collective == what.collective &&
         label.bytes == what.bytes &&
         trial.ranks == label.collective()->split * group * ranks_per_node;
}

} // namespace

base::Result<Judgement> read_fleet_baseline(const std::filesystem::path& file,
                                            const CheckOptions& limits,
                                            const FleetMeasurement& what,
                                            std::optional<int> ranks_per_node) {
  NCCLPROBE_TRY_ASSIGN(const model::Run run, read_run_or_parts(file));
  NCCLPROBE_TRY_ASSIGN(const FleetNodes nodes, fleet_nodes(run.header, ranks_per_node));
  CheckOptions options = limits;
  options.nodes = nodes.count();
  options.rails = nodes.ranks_per_node;
  History history;
  for (const model::TrialRecord& trial : run.trials) {
    if (!measured_the_same(trial.spec, what, limits.group, nodes.ranks_per_node))
      return base::fail(base::Error{base::Errc::mismatch,
                                    fmt::format("{} is not a fleet check of the same collective, "
                                                "size and nodes per group",
                                                file.string()),
                                    "take the run file of `ncclprobe fleet check` with the same "
                                    "--collective, --size and --group"});
    for (Meeting& one : fleet_meetings(nodes, trial, groups_of(nodes, trial, limits.group), 0))
      if (!one.broken())
        history.meetings.push_back(std::move(one));
  }
  return judge(options, history);
}

std::optional<BaselineComparison> compare_fleets(const std::filesystem::path& file,
                                                 const CheckOptions& limits, const Judgement& now,
                                                 const Judgement& then) {
  if (now.usual_ns.empty() || then.usual_ns.empty())
    return std::nullopt;
  const double slower = std::log(now.usual_ns.front() / then.usual_ns.front());
  const double error = 1.96 * std::hypot(now.usual_error, then.usual_error);
  return BaselineComparison{file.string(),
                            std::exp(-slower),
                            {std::exp(-slower - error), std::exp(-slower + error)},
                            slower - error > tolerated_shift(limits)};
}

} // namespace ncclprobe::cli
