// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/event_chart.h"

#include "analysis/timeline/activities.h"
#include "base/enum_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace ncclprobe::analysis {
namespace {

using timeline::Activities;
using timeline::Class;
using timeline::DeviceActivity;
using timeline::OperationIndex;
using timeline::RankHead;
using timeline::Span;
using timeline::StepKey;

constexpr std::size_t k_kinds = 4; // enumerators of Class
constexpr std::size_t k_stretches_without_steps = 4096;

// The stretches of time of which a reduced lane has sums: from the begin of one step to that of the
// next. A trace without steps is cut evenly.
std::vector<Span> stretches_of(const Activities& activities, const timeline::StepWindows& steps) {
  std::int64_t last = 0;
  for (const DeviceActivity& one : activities.all)
    last = std::max(last, one.end_ns);
  const std::int64_t first = activities.all.front().start_ns;
  std::vector<std::int64_t> begins{first};
  if (steps.keys.size() > 1) {
    for (const Span& window : steps.windows)
      if (window.begin > begins.back())
        begins.push_back(window.begin);
  } else {
    const std::int64_t length =
        (last - first) / static_cast<std::int64_t>(k_stretches_without_steps) + 1;
    while (begins.back() + length < last)
      begins.push_back(begins.back() + length);
  }
  std::vector<Span> stretches;
  for (std::size_t i = 0; i < begins.size(); ++i)
    stretches.push_back({begins[i], i + 1 < begins.size() ? begins[i + 1] : last});
  return stretches;
}

// The slowest step and the one of median length.
std::set<StepKey> chosen_steps(const timeline::StepWindows& steps) {
  if (steps.keys.size() < 2)
    return {};
  std::vector<std::size_t> order(steps.keys.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return steps.windows[i].length(); });
  return {steps.keys[order[order.size() / 2]], steps.keys[order.back()]};
}

// Adds ranks to a chart whose times are of the common clock until it is finished.
class ChartMaker {
public:
  ChartMaker(const timeline::TraceSource& source, bool is_reduced)
      : texts_(source.texts), is_reduced_(is_reduced) {
    for (const auto& [kind, name] : base::enum_names(Class{}))
      chart_.kinds.emplace_back(name);
  }

  void add(const RankHead& head, const timeline::RankTrace& trace,
           const timeline::Clocks::OfRank& clock) {
    const OperationIndex operations(trace.operations);
    const Activities activities = activities_of(trace, operations, nccl_times(trace, clock.gpu));
    if (activities.all.empty())
      return;
    const std::int64_t own = activities.all.front().start_ns;
    auto common = [&](std::int64_t at_ns) {
      return clock.host ? clock.host->to_reference(static_cast<std::uint64_t>(at_ns)) : at_ns - own;
    };
    const timeline::StepWindows steps =
        step_windows(activities, operations, trace.last_steps_are_open);
    if (is_reduced_ && !whole_)
      whole_ = chosen_steps(steps);
    const std::vector<Span> stretches =
        is_reduced_ ? stretches_of(activities, steps) : std::vector<Span>();
    std::map<std::uint16_t, EventLane> lanes; // by stream
    for (const DeviceActivity& one : activities.all) {
      EventLane& lane = lanes[one.stream];
      if (is_reduced_)
        add_to_sums(lane, one, stretches, common);
      if (is_reduced_ &&
          (one.step == timeline::k_no_step || !whole_->contains(operations.steps()[one.step])))
        continue;
      const std::int64_t start_ns = common(one.start_ns);
      lane.start_ns.push_back(start_ns);
      lane.length_ns.push_back(common(one.end_ns) - start_ns);
      lane.name.push_back(name_of(one));
    }
    for (auto& [stream, lane] : lanes) {
      lane.title = fmt::format("rank {}, stream {}", head.rank, stream);
      chart_.lanes.push_back(std::move(lane));
    }
  }

  EventChart take() {
    std::int64_t first = INT64_MAX;
    for (const EventLane& lane : chart_.lanes) {
      if (!lane.start_ns.empty())
        first = std::min(first, *std::ranges::min_element(lane.start_ns));
      if (!lane.sums.empty())
        first = std::min(first, lane.sums.front().begin_ns);
    }
    for (EventLane& lane : chart_.lanes) {
      for (std::int64_t& start_ns : lane.start_ns)
        start_ns -= first;
      for (EventSum& sum : lane.sums)
        sum.begin_ns -= first;
    }
    if (is_reduced_)
      chart_.note =
          whole_ && !whole_->empty()
              ? "Too many events for one page: it has the exact sums of every step, and all events "
                "of the slowest and the median step. --window shows every event of a part."
              : "Too many events for one page: it has exact sums. --window shows every event of a "
                "part.";
    chart_.title = "Timeline of all ranks";
    return std::move(chart_);
  }

private:
  // An event that goes on in the next stretches is divided between them.
  template <typename ToCommon>
  static void add_to_sums(EventLane& lane, const DeviceActivity& one,
                          const std::vector<Span>& stretches, ToCommon common) {
    if (lane.sums.empty())
      for (const Span& stretch : stretches)
        lane.sums.push_back({.begin_ns = common(stretch.begin),
                             .length_ns = common(stretch.end) - common(stretch.begin),
                             .busy_ns = std::vector<std::int64_t>(k_kinds)});
    auto at = std::ranges::upper_bound(stretches, one.start_ns, {}, &Span::begin) - 1;
    for (; at != stretches.end() && at->begin < one.end_ns; ++at) {
      const std::int64_t inside_ns =
          std::min(one.end_ns, at->end) - std::max(one.start_ns, at->begin);
      if (inside_ns > 0)
        lane.sums[static_cast<std::size_t>(at - stretches.begin())]
            .busy_ns[static_cast<std::size_t>(one.kind)] += inside_ns;
    }
  }

  std::uint32_t name_of(const DeviceActivity& one) {
    const auto [place, is_new] =
        names_.try_emplace({one.name, one.kind}, static_cast<std::uint32_t>(chart_.names.size()));
    if (is_new)
      chart_.names.push_back(
          {one.name < texts_.size() ? texts_[one.name] : "?", static_cast<std::size_t>(one.kind)});
    return place->second;
  }

  const std::vector<std::string>& texts_;
  bool is_reduced_;
  std::optional<std::set<StepKey>> whole_;
  std::map<std::pair<std::uint32_t, Class>, std::uint32_t> names_;
  EventChart chart_;
};

} // namespace

base::Result<EventChart> event_chart(const timeline::TraceSource& source,
                                     const timeline::Clocks& clocks, const std::vector<int>& ranks,
                                     std::uint64_t most_whole_events) {
  std::uint64_t events = 0;
  auto is_meant = [&](const RankHead& head) {
    return ranks.empty() || std::ranges::count(ranks, head.rank) > 0;
  };
  for (const RankHead& head : source.ranks)
    if (is_meant(head))
      events += head.kernels;
  ChartMaker maker(source, events > most_whole_events);
  for (const RankHead& head : source.ranks) {
    if (!is_meant(head))
      continue;
    NCCLPROBE_TRY_ASSIGN(const auto trace, source.load(head.rank, timeline::Pass::everything));
    maker.add(head, trace, clocks.ranks.at(head.rank));
  }
  return maker.take();
}

} // namespace ncclprobe::analysis
