// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/trace_window.h"

#include "analysis/timeline/trace_cut.h"
#include "base/number_list.h"
#include "base/units.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::analysis::timeline {

namespace {

constexpr std::string_view k_steps = "step:";

base::Error no_window(const std::string& text) {
  return {Errc::invalid_argument, fmt::format("'{}' is not a window", text),
          "write begin:end, such as 0:5ms, :500ms or 1.2s:, or step:3 or step:3-5"};
}

// A moment, unlike a length, may be 0 and before the begin.
Result<std::optional<std::int64_t>> parse_moment(std::string side) {
  if (side.empty())
    return std::optional<std::int64_t>();
  const bool is_before = side.front() == '-';
  if (is_before)
    side.erase(0, 1);
  if (!side.empty() && side.front() == '0' &&
      side.find_first_not_of("0.") == side.find_first_of("smuhn"))
    return std::optional<std::int64_t>(0);
  NCCLPROBE_TRY_ASSIGN(const std::int64_t ns, base::parse_duration_ns(side));
  return std::optional<std::int64_t>(is_before ? -ns : ns);
}

std::string length_text(std::int64_t ns) {
  return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
}

// Begin and end of the events of a rank's host and device, and of its timed part.
class RankExtent {
public:
  explicit RankExtent(const RankTrace& trace, const std::optional<ClockModel>& gpu)
      : operations_(trace.operations), times_(nccl_times(trace, gpu)),
        activities_(activities_of(trace, operations_, times_)) {
    for (const auto& row : trace.operations)
      add(row.start_ns, row.start_ns, row.batch >= 0);
    for (const auto& row : trace.nccl_operations)
      if (row.enqueue_ns != 0)
        add(row.enqueue_ns, std::max(row.enqueue_ns, row.enqueued_ns), !has_steps());
    for (const DeviceActivity& activity : activities_.all)
      add(static_cast<std::uint64_t>(activity.start_ns),
          static_cast<std::uint64_t>(activity.end_ns),
          has_steps() ? activity.step != k_no_step : activity.kind != Class::helper);
    if (has_steps())
      windows = step_windows(activities_, operations_, trace.last_steps_are_open);
  }

  std::uint64_t first_ns = UINT64_MAX, timed_ns = UINT64_MAX, last_ns = 0; // rank's clock
  StepWindows windows;

private:
  bool has_steps() const { return !operations_.steps().empty(); }
  void add(std::uint64_t start_ns, std::uint64_t end_ns, bool is_timed) {
    first_ns = std::min(first_ns, start_ns);
    last_ns = std::max(last_ns, end_ns);
    if (is_timed)
      timed_ns = std::min(timed_ns, start_ns);
  }

  OperationIndex operations_;
  NcclTimes times_;
  Activities activities_;
};

} // namespace

Result<WindowRequest> parse_window(const std::string& text) {
  WindowRequest window{.text = text};
  if (text.starts_with(k_steps)) {
    const auto steps = base::parse_number_range(std::string_view(text).substr(k_steps.size()));
    if (!steps)
      return fail(no_window(text));
    window.steps = {static_cast<std::size_t>(steps->first),
                    static_cast<std::size_t>(steps->second)};
    return window;
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    return fail(no_window(text));
  NCCLPROBE_TRY_ASSIGN(window.from_ns, parse_moment(text.substr(0, colon)));
  NCCLPROBE_TRY_ASSIGN(window.until_ns, parse_moment(text.substr(colon + 1)));
  if (window.from_ns && window.until_ns && *window.from_ns >= *window.until_ns)
    return fail({Errc::invalid_argument, fmt::format("the window '{}' is empty", text),
                 "its begin must come before its end"});
  return window;
}

Result<TraceExtent> extent_of(const TraceSource& source, const Clocks& clocks) {
  TraceExtent extent{.first_ns = INT64_MAX, .timed_ns = INT64_MAX, .last_ns = INT64_MIN};
  std::map<StepKey, Span> steps;
  for (const RankHead& head : source.ranks) {
    const Clocks::OfRank& clock = clocks.ranks.at(head.rank);
    if (!clock.host)
      continue;
    NCCLPROBE_TRY_ASSIGN(const RankTrace trace, source.load(head.rank, Pass::everything));
    const RankExtent of_rank(trace, clock.gpu);
    if (of_rank.first_ns == UINT64_MAX)
      continue;
    extent.first_ns = std::min(extent.first_ns, clock.host->to_reference(of_rank.first_ns));
    extent.last_ns = std::max(extent.last_ns, clock.host->to_reference(of_rank.last_ns));
    if (of_rank.timed_ns != UINT64_MAX)
      extent.timed_ns = std::min(extent.timed_ns, clock.host->to_reference(of_rank.timed_ns));
    for (std::size_t i = 0; i < of_rank.windows.keys.size(); ++i) {
      auto aligned = [&](std::int64_t own_ns) {
        return clock.host->to_reference(static_cast<std::uint64_t>(own_ns));
      };
      const Span own = of_rank.windows.windows[i];
      auto [step, is_first] =
          steps.try_emplace(of_rank.windows.keys[i], Span{aligned(own.begin), aligned(own.end)});
      step->second.begin = std::min(step->second.begin, aligned(own.begin));
      step->second.end = std::max(step->second.end, aligned(own.end));
    }
  }
  if (extent.last_ns == INT64_MIN)
    return fail(Errc::not_found, "the trace holds no events of ranks with a known clock");
  extent.timed_ns = extent.timed_ns == INT64_MAX ? extent.first_ns : extent.timed_ns;
  for (const auto& [key, span] : steps)
    extent.steps.push_back({key, span});
  std::ranges::stable_sort(extent.steps, {},
                           [](const TraceExtent::Step& step) { return step.span.begin; });
  return extent;
}

std::string describe(const TraceExtent& extent) {
  std::string steps = extent.steps.empty() ? "without steps"
                                           : fmt::format("{} steps, 0 to {}", extent.steps.size(),
                                                         extent.steps.size() - 1);
  return fmt::format("the timed part lasts {} ({}) and begins {} after the first event",
                     length_text(extent.last_ns - extent.timed_ns), steps,
                     length_text(extent.timed_ns - extent.first_ns));
}

base::Error empty_window(const WindowRequest& window, const TraceExtent& extent) {
  return {Errc::not_found, fmt::format("the window {} holds nothing", window.text),
          describe(extent)};
}

Result<Span> resolve(const WindowRequest& window, const TraceExtent& extent) {
  if (window.steps) {
    if (extent.steps.empty())
      return fail({Errc::not_found, "the trace has no steps: it does not record where they begin",
                   "give times, such as 0:5ms"});
    if (window.steps->last >= extent.steps.size())
      return fail({Errc::not_found, fmt::format("the trace has no step {}", window.steps->last),
                   describe(extent)});
    Span span = extent.steps[window.steps->first].span;
    for (std::size_t i = window.steps->first; i <= window.steps->last; ++i)
      span.end = std::max(span.end, extent.steps[i].span.end);
    return span;
  }
  // Without a begin, from the first event on, which may precede the timed part.
  Span span{window.from_ns ? extent.timed_ns + *window.from_ns : extent.first_ns,
            window.until_ns ? extent.timed_ns + *window.until_ns : INT64_MAX};
  if (span.begin > extent.last_ns || span.end <= extent.first_ns)
    return fail(empty_window(window, extent));
  return span;
}

namespace {

constexpr analysis::FindingKind k_window{
    "window", analysis::Severity::note,
    "window {window}: what began in it; losses are those of the whole trace"},
    k_window_of_steps{"window_of_steps", analysis::Severity::note,
                      "window {window}: {steps} of {of} steps, {first} to {last}; losses are "
                      "those of the whole trace"};

Result<bool> is_anything_left(const TraceSource& source, const Clocks& clocks, Span span) {
  for (const RankHead& head : source.ranks) {
    const Clocks::OfRank& clock = clocks.ranks.at(head.rank);
    if (!clock.host)
      continue;
    NCCLPROBE_TRY_ASSIGN(RankTrace trace, source.load(head.rank, Pass::everything));
    if (keep_window(trace, clock, span) > 0)
      return true;
  }
  return false;
}

} // namespace

Result<TraceSource> restricted(TraceSource source, const WindowRequest& window,
                               analysis::Finding& told) {
  const Clocks clocks = fit_clocks(source.ranks);
  NCCLPROBE_TRY_ASSIGN(const TraceExtent extent, extent_of(source, clocks));
  NCCLPROBE_TRY_ASSIGN(const Span span, resolve(window, extent));
  auto load = source.load;
  if (extent.steps.empty()) {
    NCCLPROBE_TRY_ASSIGN(const bool any, is_anything_left(source, clocks, span));
    if (!any)
      return fail(empty_window(window, extent));
    told = {&k_window, {{"window", window.text}}};
    source.load = [load, span, clocks](int rank, Pass pass) -> Result<RankTrace> {
      NCCLPROBE_TRY_ASSIGN(RankTrace trace, load(rank, pass));
      keep_window(trace, clocks.ranks.at(rank), span);
      return trace;
    };
    return source;
  }
  std::set<StepKey> wanted;
  std::size_t first = extent.steps.size(), last = 0;
  for (std::size_t i = 0; i < extent.steps.size(); ++i) {
    const TraceExtent::Step& step = extent.steps[i];
    bool is_wanted = window.steps ? i >= window.steps->first && i <= window.steps->last
                                  : step.span.begin >= span.begin && step.span.end <= span.end;
    if (!is_wanted)
      continue;
    wanted.insert(step.key);
    first = std::min(first, i);
    last = i;
  }
  if (wanted.empty())
    return fail({Errc::not_found, fmt::format("the window {} holds no whole step", window.text),
                 describe(extent)});
  told = {&k_window_of_steps,
          {{"window", window.text},
           {"steps", wanted.size()},
           {"of", extent.steps.size()},
           {"first", first},
           {"last", last}}};
  source.load = [load, wanted, clocks](int rank, Pass pass) -> Result<RankTrace> {
    NCCLPROBE_TRY_ASSIGN(RankTrace trace, load(rank, pass));
    keep_steps(trace, clocks.ranks.at(rank), wanted, pass);
    return trace;
  };
  return source;
}

} // namespace ncclprobe::analysis::timeline
