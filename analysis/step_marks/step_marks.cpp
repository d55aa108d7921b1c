// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/step_marks/step_marks.h"

#include "analysis/step_marks/exchanges.h"
#include "workload/schedule_rules.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::steps {
namespace {

using model::MarkerEdge;
using model::MarkerOp;
using model::Operation;

constexpr std::string_view k_step = "step";
constexpr std::string_view k_step_end = "step end";

const MarkerOp* marker_at(const model::Schedule& schedule, int index) {
  return std::get_if<MarkerOp>(&schedule.operations[index].what);
}

// Each rank's result needs every rank's data, so no rank finishes before the last one has come.
bool ends_together(model::Collective collective) {
  using enum model::Collective;
  return collective == all_reduce || collective == all_gather || collective == reduce_scatter ||
         collective == all_to_all;
}

std::vector<int> those_of(std::vector<int> ranks, const std::vector<int>& wanted) {
  std::erase_if(ranks, [&](int rank) { return !model::names_rank(wanted, rank); });
  return ranks;
}

std::vector<std::vector<int>> groups_of(const model::Schedule& schedule, const StretchDecl& stretch,
                                        int world_size) {
  std::vector<std::vector<int>> groups;
  std::set<int> unknown;
  for (int i = stretch.begin + 1; i < stretch.end; ++i) {
    const Operation& operation = schedule.operations[i];
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.communicator, op.stream; }) {
            if (op.stream != stretch.stream || op.communicator < 0 ||
                op.communicator >= std::ssize(schedule.communicators))
              return;
            const auto& communicator = schedule.communicators[op.communicator];
            auto ranks = those_of(workload::members_of(communicator, world_size), operation.ranks);
            if constexpr (requires { op.collective; }) {
              if (ends_together(op.collective)) {
                if (std::ranges::find(groups, ranks) == groups.end())
                  groups.push_back(std::move(ranks));
                return;
              }
            }
            unknown.insert(ranks.begin(), ranks.end());
          }
        },
        operation.what);
  }
  // If a rank is in two groups at once, it is unknown for which one it waited.
  std::set<int> seen;
  for (const auto& ranks : groups)
    for (int rank : ranks)
      if (!seen.insert(rank).second)
        unknown.insert(rank);
  for (auto& ranks : groups)
    std::erase_if(ranks, [&](int rank) { return unknown.contains(rank); });
  std::erase_if(groups, [](const auto& ranks) { return ranks.empty(); });
  return groups;
}

// The end marker before operation `before` on the stream, or -1.
int last_end_on(const model::Schedule& schedule, int stream, int before) {
  for (int i = before - 1; i >= schedule.timed.first; --i)
    if (const MarkerOp* marker = marker_at(schedule, i);
        marker && marker->stream == stream && marker->edge == MarkerEdge::end)
      return i;
  return -1;
}

// The stretch on the stream that contains, or precedes, an event at operation `before`; -1 if there
// is none.
int stretch_before(const std::vector<StretchDecl>& stretches, int stream, int before) {
  int found = -1;
  for (std::size_t i = 0; i < stretches.size() && stretches[i].begin < before; ++i)
    if (stretches[i].stream == stream)
      found = static_cast<int>(i);
  return found;
}

std::vector<int> ready_after(const model::Schedule& schedule,
                             const std::vector<StretchDecl>& stretches,
                             const StretchDecl& stretch) {
  std::vector<int> declarations;
  int since = std::max(last_end_on(schedule, stretch.stream, stretch.begin), schedule.timed.first);
  for (int i = since; i < stretch.begin; ++i) {
    const auto* wait = std::get_if<model::WaitEventOp>(&schedule.operations[i].what);
    if (!wait || wait->stream != stretch.stream)
      continue;
    for (int j = i - 1; j >= schedule.timed.first; --j) {
      const auto* record = std::get_if<model::RecordEventOp>(&schedule.operations[j].what);
      if (!record || record->event != wait->event)
        continue;
      if (int one = stretch_before(stretches, record->stream, j);
          one >= 0 && record->stream != stretch.stream)
        declarations.push_back(one);
      break;
    }
  }
  return declarations;
}

// Stretches of several steps are the same if they have the same name, and the same number among
// those of that name in their step.
void name_same(StepPlan& plan) {
  using Name = std::tuple<int, model::Activity, std::string, std::vector<int>>;
  std::map<std::pair<int, Name>, int> counts; // by step
  std::map<std::pair<int, Name>, int> firsts; // by number
  for (std::size_t i = 0; i < plan.stretches.size(); ++i) {
    StretchDecl& one = plan.stretches[i];
    const Name name{one.stream, one.activity, one.label, one.ranks};
    const int number = counts[{one.step, name}]++;
    one.same = firsts.try_emplace({number, name}, static_cast<int>(i)).first->second;
  }
}

// All marks of a rank in one launch, as operation indexes.
std::vector<int> markers_of(const model::Schedule& schedule, int rank) {
  std::vector<int> indexes;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i)
    if (marker_at(schedule, i) && model::names_rank(schedule.operations[i].ranks, rank))
      indexes.push_back(i);
  return indexes;
}

std::string place_of(const model::Mark& mark) {
  return fmt::format("rank {}, batch {}, step {}", mark.rank, mark.batch, mark.iteration);
}

// A graph records its events again in each launch, so only the last step of a batch is known.
bool marks_last_step_only(const model::Schedule& schedule, const StepPlan& plan) {
  return schedule.capture && plan.steps.front().first >= schedule.capture->first &&
         plan.steps.front().first < schedule.capture->last;
}

// Splits the marks of one rank in one batch, [first, last), into its steps.
Result<void> add_batch(const model::Schedule& schedule, const StepPlan& plan,
                       const std::vector<int>& markers, const model::Mark* first,
                       const model::Mark* last, std::vector<RankStep>& steps) {
  const std::size_t before = steps.size();
  std::map<int, std::int64_t> latest_ns; // by stream
  std::int64_t last_end_ns = 0;
  const model::Mark* mark = first;
  for (int iteration = marks_last_step_only(schedule, plan) ? first->iteration : 0; mark != last;
       ++iteration) {
    std::map<int, std::int64_t> at_ns; // by operation
    for (int index : markers) {
      const MarkerOp& marker = *marker_at(schedule, index);
      if (mark == last)
        return fail(Errc::protocol, "{}: the marks end before operation {} (\"{}\")",
                    place_of(*(mark - 1)), index, marker.label);
      if (mark->iteration != iteration || mark->operation != index)
        return fail(Errc::protocol,
                    "{}: a mark of operation {} where step {}'s of operation {} (\"{}\") is "
                    "expected",
                    place_of(*mark), mark->operation, iteration, index, marker.label);
      auto [latest, is_first] = latest_ns.try_emplace(marker.stream, mark->at_ns);
      if (mark->at_ns < latest->second)
        return fail(Errc::protocol,
                    "{}: operation {} (\"{}\") is marked {} ns before what precedes it on its "
                    "stream",
                    place_of(*mark), index, marker.label, latest->second - mark->at_ns);
      latest->second = mark->at_ns;
      at_ns[index] = mark->at_ns;
      ++mark;
    }
    const std::size_t launch = steps.size();
    for (const StepBounds& bounds : plan.steps) {
      RankStep step{.rank = first->rank,
                    .batch = first->batch,
                    .iteration = iteration * static_cast<int>(plan.steps.size()) +
                                 static_cast<int>(steps.size() - launch)};
      step.window = {at_ns.at(bounds.first), at_ns.at(bounds.last)};
      last_end_ns = step.window.end;
      if (steps.size() > before)
        steps.back().window.end = step.window.begin;
      steps.push_back(std::move(step));
    }
    for (std::size_t i = 0; i < plan.stretches.size(); ++i)
      if (auto begin = at_ns.find(plan.stretches[i].begin); begin != at_ns.end())
        steps[launch + static_cast<std::size_t>(plan.stretches[i].step)].stretches.push_back(
            {static_cast<int>(i), {begin->second, at_ns.at(plan.stretches[i].end)}});
  }
  steps.back().window.end = last_end_ns;
  return {};
}

} // namespace

Result<StepPlan> plan_of(const model::Schedule& schedule, int world_size) {
  const int size = static_cast<int>(schedule.operations.size());
  if (schedule.timed.first < 0 || schedule.timed.last > size)
    return fail(Errc::invalid_argument, "the timed region lies outside the schedule");
  StepPlan plan;
  bool in_step = false;
  std::map<std::pair<int, int>, std::size_t> open; // by stream and rank, the current stretch
  std::vector<int> everybody(static_cast<std::size_t>(std::max(world_size, 0)));
  std::iota(everybody.begin(), everybody.end(), 0);
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const MarkerOp* marker = marker_at(schedule, i);
    if (!marker)
      continue;
    const std::vector<int>& named = schedule.operations[i].ranks;
    std::vector<int> ranks = those_of(everybody, named);
    if (marker->edge == MarkerEdge::point) {
      if (marker->label == k_step && !in_step) {
        if (!plan.steps.empty() && ranks != plan.ranks)
          return fail(Errc::invalid_argument, "operation {}: a \"step\" of other ranks", i);
        plan.steps.push_back({i, -1});
        plan.ranks = ranks;
        in_step = true;
      } else if (marker->label == k_step_end && !plan.steps.empty()) {
        plan.steps.back().last = i;
        in_step = false;
        if (ranks != plan.ranks)
          return fail(Errc::invalid_argument,
                      "operation {}: \"step end\" is not of the ranks of \"step\"", i);
      }
      continue;
    }
    if (marker->edge == MarkerEdge::begin) {
      for (int rank : ranks)
        if (!open.try_emplace({marker->stream, rank}, plan.stretches.size()).second)
          return fail(Errc::invalid_argument,
                      "operation {}: \"{}\" begins in another stretch of its stream", i,
                      marker->label);
      plan.stretches.push_back({.step = std::max(0, static_cast<int>(plan.steps.size()) - 1),
                                .begin = i,
                                .end = -1,
                                .stream = marker->stream,
                                .activity = marker->activity,
                                .label = marker->label,
                                .ranks = named});
      continue;
    }
    for (int rank : ranks) {
      auto found = open.find({marker->stream, rank});
      if (found == open.end())
        return fail(Errc::invalid_argument, "operation {}: \"{}\" ends and never began", i,
                    marker->label);
      StretchDecl& stretch = plan.stretches[found->second];
      if (stretch.label != marker->label || stretch.activity != marker->activity ||
          those_of(everybody, stretch.ranks) != ranks)
        return fail(Errc::invalid_argument, "operation {}: the end of \"{}\" where \"{}\" runs", i,
                    marker->label, stretch.label);
      stretch.end = i;
      open.erase(found);
    }
  }
  if (plan.steps.empty() || in_step)
    return fail(Errc::invalid_argument, "the schedule has no marker \"{}\"",
                plan.steps.empty() ? k_step : k_step_end);
  if (!open.empty())
    return fail(Errc::invalid_argument, "the stretch \"{}\" never ends",
                plan.stretches[open.begin()->second].label);
  name_same(plan);
  for (StretchDecl& stretch : plan.stretches) {
    stretch.ready_after = ready_after(schedule, plan.stretches, stretch);
    if (stretch.activity == model::Activity::communication)
      stretch.groups = groups_of(schedule, stretch, world_size);
  }
  find_exchanges(schedule, world_size, plan);
  return plan;
}

Result<CellSteps> read_steps(const model::Schedule& schedule, int world_size,
                             const std::vector<model::Mark>& marks) {
  NCCLPROBE_TRY_ASSIGN(StepPlan plan, plan_of(schedule, world_size));
  auto place = [](const model::Mark& mark) {
    return std::tuple(mark.rank, mark.batch, mark.iteration, mark.operation);
  };
  std::vector<model::Mark> sorted = marks;
  std::ranges::stable_sort(
      sorted, [&](const model::Mark& a, const model::Mark& b) { return place(a) < place(b); });
  std::map<int, std::vector<std::pair<int, int>>> by_rank; // batch, iteration
  CellSteps out;
  for (std::size_t first = 0, last = 0; first < sorted.size(); first = last) {
    const model::Mark& mark = sorted[first];
    if (std::ranges::find(plan.ranks, mark.rank) == plan.ranks.end())
      return fail(Errc::protocol, "rank {} has marks, and does not train", mark.rank);
    while (last < sorted.size() && sorted[last].rank == mark.rank &&
           sorted[last].batch == mark.batch)
      ++last;
    std::size_t before = out.steps.size();
    NCCLPROBE_TRY(add_batch(schedule, plan, markers_of(schedule, mark.rank), &sorted[first],
                            sorted.data() + last, out.steps));
    for (std::size_t i = before; i < out.steps.size(); ++i)
      by_rank[mark.rank].push_back({out.steps[i].batch, out.steps[i].iteration});
  }
  for (int rank : plan.ranks)
    if (!by_rank.contains(rank))
      return fail(Errc::protocol, "rank {} has no marks", rank);
  for (const auto& [rank, steps] : by_rank)
    if (steps != by_rank.begin()->second)
      return fail(Errc::protocol, "rank {} has {} steps, rank {} has {}", rank, steps.size(),
                  by_rank.begin()->first, by_rank.begin()->second.size());
  out.plan = std::move(plan);
  return out;
}

} // namespace ncclprobe::analysis::steps
