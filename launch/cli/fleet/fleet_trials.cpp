// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/fleet/fleet_trials.h"

#include "analysis/statistics/statistics.h"
#include "base/printable.h"
#include "workload/collective_benchmark.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::cli {
namespace {

using analysis::fleet::Group;
using analysis::fleet::Meeting;
using analysis::fleet::Reason;

constexpr std::size_t k_longest_reason = 160;

int rank_of(const FleetNodes& nodes, int node, int rail) {
  return nodes.ranks[static_cast<std::size_t>(node)][static_cast<std::size_t>(rail)];
}

base::Result<model::Cell> cell_of(const model::Cell& like, const FleetMeasurement& what, int ranks,
                                  std::size_t communicators) {
  workload::CollectiveRequest request;
  request.collective = what.collective;
  request.bytes = what.bytes;
  request.ranks = ranks;
  request.split = static_cast<int>(communicators);
  NCCLPROBE_TRY_ASSIGN(model::Cell cell, workload::make_collective_cell(request, like.timing));
  cell.deadline_ns = like.deadline_ns;
  // To split the world, all ranks would have to take part in the making of each communicator.
  for (model::CommunicatorDecl& one : cell.schedule.communicators)
    one.parent = -1;
  return cell;
}

// Of these ranks, per launch; absent without a batch that all of them finished.
std::optional<double> time_of(const model::CellRecord& cell, const std::set<int>& ranks) {
  struct Batch {
    std::size_t ranks = 0;
    double slowest_ns = 0;
  };
  std::map<int, Batch> batches;
  for (const model::Sample& one : cell.samples)
    if (ranks.contains(one.rank) && one.iterations > 0) {
      Batch& batch = batches[one.batch];
      ++batch.ranks;
      batch.slowest_ns =
          std::max(batch.slowest_ns, static_cast<double>(one.elapsed_ns) / one.iterations);
    }
  std::vector<double> times;
  for (const auto& [number, batch] : batches)
    if (batch.ranks == ranks.size() && batch.slowest_ns > 0)
      times.push_back(batch.slowest_ns);
  return times.empty() ? std::nullopt : std::optional(analysis::median(times));
}

std::string short_reason(const std::string& reason) {
  std::string text = base::printable(reason);
  if (const std::size_t detail = text.find("; "); detail != std::string::npos)
    text.resize(detail);
  if (text.size() > k_longest_reason)
    text = base::printable(text.substr(0, k_longest_reason)) + "...";
  return text;
}

bool has_any(const Group& group, const std::set<int>& nodes) {
  return std::ranges::any_of(group, [&](int node) { return nodes.contains(node); });
}

} // namespace

std::vector<int> fleet_ranks(const FleetNodes& nodes, const std::vector<Group>& groups) {
  std::vector<int> ranks;
  for (const Group& group : groups)
    for (int rail = 0; rail < nodes.ranks_per_node; ++rail)
      for (const int node : group)
        ranks.push_back(rank_of(nodes, node, rail));
  return ranks;
}

base::Result<model::TrialSpec> fleet_trial(const FleetNodes& nodes,
                                           const model::TrialSpec& of_defaults,
                                           const FleetMeasurement& what,
                                           const std::vector<Group>& groups, int id) {
  model::TrialSpec trial = of_defaults;
  trial.id = trial.replicate = id;
  trial.launch_ranks = fleet_ranks(nodes, groups);
  trial.ranks = static_cast<int>(trial.launch_ranks.size());
  trial.process.per_rank.clear();
  for (int rank = 0; rank < trial.ranks; ++rank)
    if (const auto found =
            of_defaults.process.per_rank.find(trial.launch_ranks[static_cast<std::size_t>(rank)]);
        found != of_defaults.process.per_rank.end())
      trial.process.per_rank[rank] = found->second;
  const model::Cell like = of_defaults.cells.front();
  trial.cells.clear();
  NCCLPROBE_TRY_ASSIGN(model::Cell whole, cell_of(like, what, trial.ranks, groups.size()));
  trial.cells.push_back(std::move(whole));
  if (nodes.ranks_per_node > 1) {
    const auto rails = static_cast<std::size_t>(nodes.ranks_per_node);
    NCCLPROBE_TRY_ASSIGN(model::Cell by_rail,
                         cell_of(like, what, trial.ranks, groups.size() * rails));
    trial.cells.push_back(std::move(by_rail));
  }
  return trial;
}

std::vector<Meeting> fleet_meetings(const FleetNodes& nodes, const model::TrialRecord& trial,
                                    const std::vector<Group>& groups, int round) {
  std::vector<Meeting> meetings;
  for (const Group& group : groups) {
    std::vector<std::optional<double>> times;
    std::set<int> all;
    for (const int node : group)
      all.insert(nodes.ranks[static_cast<std::size_t>(node)].begin(),
                 nodes.ranks[static_cast<std::size_t>(node)].end());
    if (!trial.cells.empty())
      times.push_back(time_of(trial.cells.front(), all));
    if (trial.cells.size() > 1)
      for (int rail = 0; rail < nodes.ranks_per_node; ++rail) {
        std::set<int> ranks;
        for (const int node : group)
          ranks.insert(rank_of(nodes, node, rail));
        times.push_back(time_of(trial.cells[1], ranks));
      }
    Meeting& meeting = meetings.emplace_back(Meeting{round, trial.spec.id, group, {}});
    if (!times.empty() &&
        std::ranges::all_of(times, [](const auto& one) { return one.has_value(); }))
      for (const auto& one : times)
        meeting.times_ns.push_back(*one);
  }
  return meetings;
}

FleetFailure fleet_failure(const FleetNodes& nodes, const model::TrialRecord& trial,
                           const std::vector<Group>& groups, int round) {
  FleetFailure failure;
  std::set<int> blamed, reported, out;
  for (const int rank : trial.outcome.ranks)
    blamed.insert(nodes.node_of(rank));
  for (const model::WorkerRecord& worker : trial.workers)
    for (const int rank : worker.ranks)
      reported.insert(nodes.node_of(rank));
  auto add_fault = [&](int node, Reason reason, std::string what) {
    if (out.insert(node).second)
      failure.faults.push_back({node, round, reason, std::move(what)});
  };
  for (const Group& group : groups)
    for (const int node : group)
      if (!reported.empty() && !reported.contains(node))
        add_fault(node, Reason::no_answer, "its supervisor no longer answers");
      else if (trial.outcome.kind == model::OutcomeKind::crashed && blamed.contains(node))
        add_fault(node, Reason::crashed, short_reason(trial.outcome.reason));
  for (const Group& group : groups)
    if (!has_any(group, out))
      (out.empty() && has_any(group, blamed) ? failure.blamed : failure.others).push_back(group);
  return failure;
}

} // namespace ncclprobe::cli
