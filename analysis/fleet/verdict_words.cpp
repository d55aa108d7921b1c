// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/fleet/verdict_words.h"

#include "base/number_list.h"
#include "base/text_layout.h"

#include <fmt/format.h>

namespace ncclprobe::analysis::fleet {
namespace {

std::string in_words(const SpeedEstimate& estimate) {
  return fmt::format("{:.2f}x [{:.2f}, {:.2f}], slow in {} of {}", estimate.ratio,
                     estimate.interval.low, estimate.interval.high, estimate.slow,
                     estimate.meetings);
}

// The slowest of these rails, or the whole node.
const SpeedEstimate* slowest_of(const std::vector<PathVerdict>& paths,
                                const std::vector<int>& rails) {
  const SpeedEstimate* shown = nullptr;
  if (paths.empty())
    return shown;
  for (const int rail : rails)
    if (const auto& one = paths[static_cast<std::size_t>(rail) + 1].estimate;
        one && (shown == nullptr || one->ratio < shown->ratio))
      shown = &*one;
  if (shown == nullptr && paths.front().estimate)
    shown = &*paths.front().estimate;
  return shown;
}

} // namespace

const NodeVerdict& verdict_of(const Checked& checked, int node) {
  return checked.judgement.nodes[static_cast<std::size_t>(node)];
}

const SpeedEstimate* shown_estimate(const NodeVerdict& node) {
  return slowest_of(node.decisive(), node.bad_rails);
}

const SpeedEstimate* baseline_estimate(const NodeVerdict& node) {
  return slowest_of(node.against_baseline, node.bad_rails);
}

std::vector<std::string> names_of(const Checked& checked, const GroupVerdict& group) {
  std::vector<std::string> names;
  for (const int node : group.nodes)
    names.push_back(checked.names[static_cast<std::size_t>(node)]);
  return names;
}

bool is_link(const GroupVerdict& group) {
  return group.nodes.size() == 2;
}

std::string reason_of(const GroupVerdict& group) {
  return (group.estimate ? in_words(*group.estimate) : std::string("did not finish")) +
         (group.rail ? fmt::format(", rail {}", *group.rail) : "");
}

Reason reason_id_of(const GroupVerdict& group) {
  if (!group.estimate)
    return Reason::not_finished;
  return group.standing == Standing::undecided ? Reason::not_decided
         : group.rail                          ? Reason::slow_rails
                                               : Reason::slow;
}

Reason reason_id_of(const NodeVerdict& node) {
  switch (node.standing) {
  case Standing::good:
    return Reason::none;
  case Standing::failed:
    return node.fault_reason;
  case Standing::bad:
    return node.evidence == Evidence::baseline       ? Reason::got_slower
           : node.evidence == Evidence::large_groups ? Reason::slow_in_groups
           : node.bad_rails.empty()                  ? Reason::slow
                                                     : Reason::slow_rails;
  case Standing::undecided:
    break;
  }
  return node.broken > 0                   ? Reason::not_finished
         : shown_estimate(node) == nullptr ? Reason::not_measured
                                           : Reason::not_decided;
}

std::string reason_of(const Checked& checked, int node) {
  const NodeVerdict& one = verdict_of(checked, node);
  if (one.standing == Standing::good)
    return "";
  if (one.standing == Standing::failed)
    return one.fault;
  const SpeedEstimate* estimate = shown_estimate(one);
  std::string reason = estimate != nullptr                      ? in_words(*estimate)
                       : one.evidence == Evidence::large_groups ? "never measured in a larger group"
                                                                : "never measured";
  if (estimate != nullptr && one.evidence == Evidence::baseline)
    reason += ", against the baseline";
  if (estimate != nullptr && one.evidence == Evidence::large_groups)
    reason += fmt::format(", only in groups of {}", checked.options.large_group);
  if (!one.bad_rails.empty())
    reason += fmt::format(", rail {}", base::format_number_list(one.bad_rails));
  if (one.broken > 0)
    reason +=
        fmt::format(", {} did not finish", base::count_of(static_cast<std::size_t>(one.broken),
                                                          "measurement", "measurements"));
  if (const SpeedEstimate* change = baseline_estimate(one);
      change != nullptr && one.evidence != Evidence::baseline)
    reason += fmt::format("; {:.2f}x [{:.2f}, {:.2f}] of the baseline", change->ratio,
                          change->interval.low, change->interval.high);
  return reason;
}

} // namespace ncclprobe::analysis::fleet
