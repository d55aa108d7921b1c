// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/fleet/fleet_job.h"

#include "analysis/fleet/judgement.h"
#include "analysis/fleet/rounds.h"
#include "analysis/results/bandwidth.h"
#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"

#include <algorithm>

namespace ncclprobe::cli {

using namespace analysis::fleet;

namespace {

constexpr int k_usual_large_group = 8;

// Six groups or more: with fewer, most nodes meet a slow one often, and rounds run out before all
// others are good. Small fleets have three at least.
int usual_large_group(const FleetOptions& options, int nodes) {
  const int usual = std::min({std::clamp(nodes / 6, 3, k_usual_large_group),
                              nodes / k_least_large_groups, options.at_once.value_or(nodes)});
  return usual > options.group ? usual : 0;
}

base::Result<void> check_large_group(const FleetOptions& options, const CheckOptions& limits) {
  auto refused = [&](const std::string& why, const std::string& hint) {
    return base::fail(base::Error{base::Errc::invalid_argument,
                                  fmt::format("--large-group {}: {}", limits.large_group, why),
                                  hint});
  };
  if (limits.large_group == 0)
    return {};
  if (limits.large_group <= limits.group)
    return refused(fmt::format("the first groups have {} nodes already", limits.group),
                   "take more, or 0 for none");
  if (options.at_once && limits.large_group > *options.at_once)
    return refused(fmt::format("--at-once permits only {} nodes", *options.at_once),
                   fmt::format("take at most {}, or 0 for none", *options.at_once));
  if (limits.large_group > limits.nodes / k_least_large_groups)
    return refused(
        fmt::format("there are {} nodes, too few for three such groups", limits.nodes),
        fmt::format("take at most {}, or 0 for none", limits.nodes / k_least_large_groups));
  return {};
}

CheckOptions limits_of(const FleetOptions& options, const FleetNodes& nodes) {
  CheckOptions limits;
  limits.nodes = nodes.count();
  limits.rails = nodes.ranks_per_node;
  limits.group = options.group;
  limits.large_group = options.large_group.value_or(usual_large_group(options, nodes.count()));
  limits.most_rounds = options.rounds;
  limits.alpha = options.alpha;
  limits.power = options.power;
  limits.slower = options.slower;
  limits.seed = *options.seed;
  return limits;
}

// Groups of at most so many nodes together.
std::vector<std::vector<Group>> portions(const std::vector<Group>& groups,
                                         std::optional<int> nodes_at_once) {
  std::vector<std::vector<Group>> all;
  int nodes = 0;
  for (const Group& group : groups) {
    nodes += static_cast<int>(group.size());
    if (all.empty() || (nodes_at_once && nodes > *nodes_at_once)) {
      all.emplace_back();
      nodes = static_cast<int>(group.size());
    }
    all.back().push_back(group);
  }
  return all;
}

} // namespace

FleetJob::FleetJob(const World& world, const Session& session, FleetOptions options,
                   FleetNodes nodes)
    : world_(world), session_(session), options_(std::move(options)),
      nodes_(std::move(nodes)), what_{options_.collective, options_.sizes->front()},
      limits_(limits_of(options_, nodes_)) {
  history_.faults = nodes_.faults;
}

base::Result<workload::Plan> FleetJob::plan() {
  NCCLPROBE_TRY_ASSIGN(workload::PlanRequest request, make_request(options_, session_, world_));
  request.proof = workload::Proof::off;
  request.repeats = 1;
  NCCLPROBE_TRY_ASSIGN(workload::Plan plan, workload::make_plan(request));
  of_defaults_ = plan.trials.front();
  try {
    plan.trials = begin_round();
  } catch (const base::Exception& error) { // a collective that such groups cannot run
    return base::fail(error.error());
  }
  plan.notes.clear();
  if (plan.trials.empty())
    return base::fail(base::Errc::mismatch, "too few nodes have all their ranks");
  what_.bytes = plan.trials.front().cells.front().label.bytes; // rounded
  NCCLPROBE_TRY(check_large_group(options_, limits_));
  if (!options_.baseline.empty()) {
    NCCLPROBE_TRY_ASSIGN(baseline_, read_fleet_baseline(options_.baseline, limits_, what_, nodes_,
                                                        options_.ranks_per_node));
    history_.earlier = earlier_speeds(*baseline_);
  }
  return plan;
}

model::TrialSpec FleetJob::ask(Groups groups) {
  model::TrialSpec trial =
      base::value_or_throw(fleet_trial(nodes_, of_defaults_, what_, groups, next_id_));
  asked_.emplace(next_id_++, std::move(groups));
  return trial;
}

std::vector<model::TrialSpec> FleetJob::begin_round() {
  const Round round = next_round(limits_, history_, judge(limits_, history_));
  std::vector<model::TrialSpec> trials;
  for (Groups& some : portions(round.groups, options_.at_once))
    trials.push_back(ask(std::move(some)));
  for (const Group& group : round.alone)
    trials.push_back(ask({group}));
  return trials;
}

// Most nodes failed: that is no matter of some bad ones.
bool FleetJob::measures_nothing() const {
  return 2 * static_cast<int>(history_.faults.size()) > nodes_.count();
}

// A trial that failed, without those that are to blame. If nobody is, each half of it alone.
void FleetJob::divide(const model::TrialRecord& trial, const Groups& groups,
                      std::vector<model::TrialSpec>& more) {
  const FleetFailure failure = fleet_failure(nodes_, trial, groups, history_.rounds);
  history_.faults.insert(history_.faults.end(), failure.faults.begin(), failure.faults.end());
  if (failure.faults.empty() && groups.size() == 1) {
    history_.meetings.push_back({history_.rounds, trial.spec.id, groups.front(), {}});
    return;
  }
  auto ask_if_any = [&](Groups some) {
    if (!some.empty())
      more.push_back(ask(std::move(some)));
  };
  const bool all_alike = failure.blamed.empty() || failure.others.empty();
  if (failure.faults.empty() && all_alike) {
    const auto middle = groups.begin() + static_cast<std::ptrdiff_t>(groups.size() / 2);
    ask_if_any({groups.begin(), middle});
    ask_if_any({middle, groups.end()});
    return;
  }
  ask_if_any(failure.others);
  for (const Group& group : failure.blamed)
    ask_if_any({group});
}

std::vector<model::TrialSpec> FleetJob::learn(const model::TrialRecord& trial) {
  const auto asked = asked_.find(trial.spec.id);
  const Groups groups = asked->second;
  asked_.erase(asked);
  std::vector<model::TrialSpec> more;
  if (trial.outcome.kind == model::OutcomeKind::not_run) {
    why_incomplete_ = trial.outcome.reason;
    return {};
  }
  if (trial.outcome.ok()) {
    std::ranges::move(fleet_meetings(nodes_, trial, groups, history_.rounds),
                      std::back_inserter(history_.meetings));
  } else {
    divide(trial, groups, more);
    if (measures_nothing()) {
      why_incomplete_ = "most nodes failed: " + trial.outcome.reason;
      asked_.clear();
      return {};
    }
  }
  if (!asked_.empty() || !why_incomplete_.empty())
    return more;
  ++history_.rounds;
  return begin_round();
}

double FleetJob::busbw_gb_per_s(double time_ns, int group) const {
  return analysis::algbw_gb_per_s(what_.bytes, time_ns).value_or(0) *
         analysis::busbw_factor(what_.collective, group * nodes_.ranks_per_node).value_or(0);
}

int FleetJob::conclude(const std::filesystem::path& run_file, int exit_code) {
  Checked checked;
  checked.options = limits_;
  checked.names = nodes_.names;
  checked.whole_hosts = nodes_.whole_hosts;
  checked.backend = session_.backend.name;
  checked.collective = model::to_string(what_.collective);
  checked.bytes = what_.bytes;
  checked.ranks_per_node = nodes_.ranks_per_node;
  checked.rounds = history_.rounds;
  checked.meetings = static_cast<int>(history_.meetings.size());
  checked.judgement = judge(limits_, history_);
  checked.run_file = run_file.string();
  checked.why_incomplete = why_incomplete_;
  if (!asked_.empty() && why_incomplete_.empty())
    checked.why_incomplete = "it was stopped";
  if (!checked.judgement.usual_ns.empty())
    checked.usual_gb_per_s = busbw_gb_per_s(checked.judgement.usual_ns.front(), limits_.group);
  if (const auto& usual = checked.judgement.large_usual_ns)
    checked.large_usual_gb_per_s = busbw_gb_per_s(*usual, limits_.large_group);
  if (baseline_)
    checked.baseline = compare_fleets(*baseline_, limits_, checked.judgement);
  // A trial that failed is a result here; what else went wrong stays.
  const bool lasting = exit_code == base::k_exit_interrupted || exit_code == base::k_exit_output;
  const int verdict = names_any(checked)                                 ? base::k_exit_bad_node
                      : checked.meetings == 0                            ? base::k_exit_nothing
                      : !checked.why_incomplete.empty()                  ? base::k_exit_some_failed
                      : checked.judgement.count(Standing::undecided) > 0 ? base::k_exit_undecided
                                                                         : base::k_exit_ok;
  return deliver(fleet_report(checked), options_.format.value_or(analysis::Format::table),
                 report_file(options_), lasting ? exit_code : verdict);
}

Job FleetJob::job() {
  Job job;
  job.options = options_;
  job.can_be_resumed = false;
  job.plan = [this] { return plan(); };
  job.more = [this](const model::TrialRecord& trial) { return learn(trial); };
  job.conclude = [this](const analysis::RunSummary&, const std::filesystem::path& run_file,
                        int exit_code) { return conclude(run_file, exit_code); };
  return job;
}

} // namespace ncclprobe::cli
