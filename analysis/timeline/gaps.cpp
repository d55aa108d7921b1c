// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/gaps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace ncclprobe::analysis::timeline {
namespace {

// When the host began to launch an activity: from the call, else from the operation, else from
// NCCL.
class Launches {
public:
  Launches(const RankTrace& trace, const OperationIndex& operations)
      : trace_(trace), operations_(operations) {
    for (const trace::ApiRow& row : trace.api)
      calls_.emplace_back(row.correlation, static_cast<std::int64_t>(row.start_ns));
    std::sort(calls_.begin(), calls_.end());
  }
  std::optional<std::int64_t> of(const DeviceActivity& activity) const {
    auto call = std::lower_bound(calls_.begin(), calls_.end(),
                                 std::pair{activity.correlation, std::int64_t{INT64_MIN}});
    if (activity.correlation != 0 && call != calls_.end() && call->first == activity.correlation)
      return call->second;
    if (const auto* operation = operations_.find(activity.operation))
      return static_cast<std::int64_t>(operation->start_ns);
    if (activity.nccl > 0)
      return static_cast<std::int64_t>(trace_.nccl_operations[activity.nccl - 1].enqueue_ns);
    return std::nullopt;
  }

private:
  const RankTrace& trace_;
  const OperationIndex& operations_;
  std::vector<std::pair<std::uint32_t, std::int64_t>> calls_; // by correlation
};

// What streams waited for.
class EventWaits {
public:
  explicit EventWaits(const RankTrace& trace) {
    for (const trace::DeviceEventRow& row : trace.device_events)
      if (row.at_ns != 0) {
        records_[row.event].push_back(row);
        instances_[{row.event, row.instance}] = static_cast<std::int64_t>(row.at_ns);
      }
    for (auto& [event, rows] : records_)
      std::sort(rows.begin(), rows.end(),
                [](const auto& a, const auto& b) { return a.correlation < b.correlation; });
    for (const trace::SynchronizationRow& row : trace.synchronizations)
      if (row.kind == trace::SynchronizationKind::stream_wait_event)
        waits_[row.stream].push_back(row);
    for (auto& [stream, rows] : waits_)
      std::sort(rows.begin(), rows.end(),
                [](const auto& a, const auto& b) { return a.correlation < b.correlation; });
  }
  // Did the stream, between the launches of the two, get a wait for something later than the end of
  // `before`?
  bool held(const DeviceActivity& before, const DeviceActivity& after) const {
    auto waits = waits_.find(after.stream);
    if (waits == waits_.end())
      return false;
    auto first = std::upper_bound(
        waits->second.begin(), waits->second.end(), before.correlation,
        [](std::uint32_t correlation, const auto& row) { return correlation < row.correlation; });
    for (auto wait = first; wait != waits->second.end() && wait->correlation < after.correlation;
         ++wait)
      if (auto at = reached(*wait); at && *at > before.end_ns)
        return true;
    return false;
  }

private:
  std::optional<std::int64_t> reached(const trace::SynchronizationRow& wait) const {
    if (wait.event_instance != 0) {
      auto record = instances_.find({wait.event, wait.event_instance});
      return record == instances_.end() ? std::nullopt : std::optional(record->second);
    }
    auto records = records_.find(wait.event);
    if (records == records_.end())
      return std::nullopt;
    // Without its number, the previous one.
    auto after = std::lower_bound(
        records->second.begin(), records->second.end(), wait.correlation,
        [](const auto& row, std::uint32_t correlation) { return row.correlation < correlation; });
    if (after == records->second.begin())
      return std::nullopt;
    return static_cast<std::int64_t>(std::prev(after)->at_ns);
  }

  std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t> instances_;
  std::unordered_map<std::uint32_t, std::vector<trace::DeviceEventRow>> records_;   // by event
  std::unordered_map<std::uint16_t, std::vector<trace::SynchronizationRow>> waits_; // by stream
};

} // namespace

const char* name_of(GapCause cause) {
  switch (cause) {
  case GapCause::launch_late:
    return "launch_late";
  case GapCause::event:
    return "event";
  case GapCause::other:
    return "other";
  case GapCause::unknown:
    return "unknown";
  }
  return "unknown";
}

void Gaps::add(const Gaps& other) {
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].count += other.causes[i].count;
    causes[i].length_ns += other.causes[i].length_ns;
  }
  events_traced = events_traced || other.events_traced;
}

ByCell<Gaps> find_gaps(const RankTrace& trace, const Activities& activities,
                       const OperationIndex& operations) {
  Launches launches(trace, operations);
  EventWaits events(trace);
  bool has_steps = !operations.steps().empty();
  auto same_batch = [&](const DeviceActivity& a, const DeviceActivity& b) {
    if (!has_steps)
      return true;
    if (a.step == k_no_step || b.step == k_no_step)
      return false;
    const StepKey& left = operations.steps()[a.step];
    const StepKey& right = operations.steps()[b.step];
    return left.cell == right.cell && left.batch == right.batch;
  };
  ByCell<Gaps> gaps;
  const bool events_traced =
      !trace.api.empty() || !trace.synchronizations.empty() || !trace.device_events.empty();
  std::vector<const DeviceActivity*> last; // of each stream: the one that ended last
  for (const DeviceActivity& activity : activities.all) {
    if (activity.stream >= last.size())
      last.resize(activity.stream + 1u);
    const DeviceActivity*& before = last[activity.stream];
    if (before != nullptr && activity.start_ns > before->end_ns && before->kind != Class::helper &&
        activity.kind != Class::helper && same_batch(*before, activity)) {
      auto launched = launches.of(activity);
      GapCause cause = GapCause::other;
      if (launched && *launched > before->end_ns)
        cause = GapCause::launch_late;
      else if (events.held(*before, activity))
        cause = GapCause::event;
      else if (!launched)
        cause = GapCause::unknown;
      Gaps& of_cell = gaps[operations.cell_of(activity.step)];
      of_cell.events_traced = events_traced;
      Gaps::Sum& sum = of_cell.of(cause);
      ++sum.count;
      sum.length_ns += activity.start_ns - before->end_ns;
    }
    if (before == nullptr || activity.end_ns >= before->end_ns)
      before = &activity;
  }
  return gaps;
}

} // namespace ncclprobe::analysis::timeline
