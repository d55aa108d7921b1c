// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/json_values.h"
#include "analysis/report/timeline_report.h"
#include "analysis/statistics/statistics.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

using Json = nlohmann::ordered_json; // fields in the order written below

// A value that is not twice its error is told all the same, and that it is not shown.
Json aligned_json(const std::optional<Aligned>& time) {
  return time ? Json{{"value_ns", time->value_ns},
                     {"error_ns", time->error_ns},
                     {"shown", time->is_shown()}}
              : Json(nullptr);
}

Json parts_json(const StepParts& parts) {
  return {{"length_ns", parts.length_ns},
          {"communication_ns", parts.communication_ns},
          {"hidden_ns", parts.hidden_ns},
          {"compute_ns", parts.compute_ns},
          {"exposed_wait_ns", parts.exposed_wait_ns},
          {"exposed_transfer_ns", parts.exposed_transfer_ns},
          {"memory_ns", parts.memory_ns},
          {"helper_ns", parts.helper_ns},
          {"idle_ns", parts.idle_ns}};
}

Json sum_json(const PartsSum& sum) {
  Json out = parts_json(sum.parts);
  out["steps"] = sum.steps;
  out["exposed_wait_error_ns"] = sum.wait_error_ns;
  out["exposed_transfer_error_ns"] = sum.wait_error_ns; // what the one has too much the other lacks
  out["overlap"] = sum.parts.communication_ns > 0
                       ? Json(static_cast<double>(sum.parts.hidden_ns) /
                              static_cast<double>(sum.parts.communication_ns))
                       : Json(nullptr);
  return out;
}

Json gaps_json(const Gaps& gaps) {
  Json out = Json::object();
  for (GapCause cause :
       {GapCause::launch_late, GapCause::event, GapCause::other, GapCause::unknown})
    out[name_of(cause)] = {{"count", gaps.of(cause).count},
                           {"length_ns", gaps.of(cause).length_ns}};
  out["events_traced"] = gaps.events_traced;
  return out;
}

// "cell" is null where the trace has no steps.
Json cell_json(int cell, const TimelineHeading& heading) {
  Json out{{"cell", cell < 0 ? Json(nullptr) : Json(cell)}};
  if (auto name = heading.cells.find(cell); name != heading.cells.end())
    out["name"] = name->second;
  return out;
}

// One object for each cell.
template <typename T, typename ToJson>
Json by_cell(const ByCell<T>& cells, const TimelineHeading& heading, ToJson to_json) {
  Json out = Json::array();
  for (const auto& [cell, one] : cells) {
    out.push_back(cell_json(cell, heading));
    out.back().update(to_json(one));
  }
  return out;
}

Json joins_json(const JoinCounts& joins) {
  return {{"kernels", joins.kernels},
          {"kernels_by_key", joins.kernels_by_key},
          {"kernels_by_time", joins.kernels_by_time},
          {"operations", joins.operations},
          {"operations_joined", joins.operations_joined},
          {"channels", joins.channels},
          {"channels_joined", joins.channels_joined},
          {"proxy_steps", joins.proxy_steps},
          {"proxy_steps_joined", joins.proxy_steps_joined},
          {"channels_overwritten", joins.channels_overwritten},
          {"channels_outside", joins.channels_outside},
          {"worst_outside_ns",
           joins.channels_compared > 0 ? Json(joins.worst_outside_ns) : Json(nullptr)}};
}

Json rank_json(const RankTimeline& rank, const TimelineHeading& heading) {
  Json out{{"rank", rank.rank},
           {"kernels", rank.kernels},
           {"copies", rank.copies},
           {"without_times", rank.without_times},
           {"nccl_operations", rank.nccl_operations},
           {"from_nccl", rank.from_nccl},
           {"clock_known", rank.clock_known},
           {"communications", rank.communications},
           {"matched", rank.matched},
           {"cells", by_cell(rank.cells, heading, sum_json)}};
  out["streams"] = Json::array();
  for (const auto& [cell, streams] : rank.streams)
    for (const StreamParts& stream : streams)
      out["streams"].push_back({{"cell", cell < 0 ? Json(nullptr) : Json(cell)},
                                {"stream", stream.stream},
                                {"kernels", stream.kernels},
                                {"communication_ns", stream.communication_ns},
                                {"hidden_ns", stream.hidden_ns}});
  out["gaps"] = by_cell(rank.gaps, heading, gaps_json);
  for (const RankTimeline::Step& step : rank.steps) {
    Json one{{"cell", step.key.cell},
             {"batch", step.key.batch},
             {"iteration", step.key.iteration},
             {"start_ns", step.start_ns}};
    one.update(parts_json(step.parts));
    out["steps"].push_back(one);
  }
  return out;
}

// The offset is that of the moment from which on the clock is used, as the error is of its use.
Json clock_model_json(const std::optional<ClockModel>& one, const Span& use) {
  if (!one)
    return nullptr;
  const auto at_ns = static_cast<std::uint64_t>(use.begin);
  return {{"at_ns", at_ns},
          {"offset_ns", one->to_reference(at_ns) - static_cast<std::int64_t>(at_ns)},
          {"rate_ppb", one->mean_rate() * 1e9},
          {"error_ns", one->worst_error_ns(at_ns, static_cast<std::uint64_t>(use.end))},
          {"readings", one->readings},
          {"collectives", one->collectives},
          {"pieces", one->pieces},
          {"bend_ns", one->bend_ns},
          {"widened_ns", one->widened_ns}};
}

std::string_view name_of(trace::ClockKind kind) {
  return kind == trace::ClockKind::host ? "host" : "globaltimer";
}

Json clock_json(const Clocks& clocks) {
  Json ranks = Json::array();
  for (const auto& [rank, clock] : clocks.ranks)
    ranks.push_back({{"rank", rank},
                     {"host", clock.host_index},
                     {"to_first_host", clock_model_json(clock.host, clock.host_use)},
                     {"globaltimer", clock_model_json(clock.gpu, clock.gpu_use)},
                     {"globaltimer_beside_rank", nullable(clock.gpu_reference)}});
  Json contradicted = Json::array();
  for (const Clocks::Contradicted& one : clocks.contradicted)
    contradicted.push_back({{"rank", one.rank},
                            {"clock", name_of(one.kind)},
                            {"at_ns", one.at_ns},
                            {"after_first_reading_ns", one.after_first_ns},
                            {"by_ns", one.by_ns}});
  return {{"hosts", clocks.hosts},
          {"all_known", clocks.all_known()},
          {"worst_error_ns", clocks.worst_host_error_ns()},
          {"worst_gpu_error_ns", clocks.worst_gpu_error_ns()},
          {"worst_error_among_gpus_ns", nullable(clocks.worst_error_among_gpus_ns())},
          {"same_host_readings", clocks.same_host_readings},
          {"same_host_contradictions", clocks.same_host_contradictions},
          {"same_host_error_ns", clocks.same_host_error_ns},
          {"inferred_hosts", clocks.inferred_hosts},
          {"inferred_from", clocks.inferred_from},
          {"contradicted_readings", contradicted},
          {"contradicted_events", clocks.contradicted_events},
          {"collectives_unused_of_ranks", clocks.collectives_unused},
          {"ranks", ranks}};
}

Json ledger_json(const Ledger& ledger) {
  return {{"launches_seen", nullable(ledger.launches_seen)},
          {"kernels_delivered", nullable(ledger.kernels_delivered)},
          {"dropped_by_library", ledger.dropped_by_library},
          {"no_times", ledger.no_times},
          {"own_queue", ledger.own_queue},
          {"file", ledger.file},
          {"plugin", ledger.plugin},
          {"unknown_record", ledger.unknown_record},
          {"calls_told", ledger.calls_told},
          {"calls_unlike", ledger.calls_unlike},
          {"unexplained", nullable(ledger.unexplained())},
          {"surplus", nullable(ledger.surplus())}};
}

Json physics_json(const PhysicsCheck& physics) {
  return {{"checked", physics.checked},
          {"made_the_clocks", physics.served},
          {"violations", physics.violations},
          {"beyond_bound", physics.beyond_bound},
          {"worst_margin_ns", nullable(physics.worst_margin_ns)}};
}

Json messages_json(const MessageWaits& found, const TimelineHeading& heading) {
  const RankMessages& all = found.all;
  auto count = [&](MatchState match) { return all.halves[static_cast<std::size_t>(match)]; };
  Json unmatched = Json::array();
  for (const UnmatchedHalf& one : all.unmatched)
    unmatched.push_back(describe(one));
  auto waits_json = [&](const MessageWaits::OfCell& waits) {
    Json ranks = Json::array();
    for (const MessageWaits::OfRank& rank : waits.ranks)
      ranks.push_back({{"rank", rank.rank},
                       {"kernels_that_waited", rank.kernels},
                       {"wait", aligned_json(rank.wait)},
                       {"most_for", rank.most_for < 0 ? Json(nullptr) : Json(rank.most_for)},
                       {"times_awaited", rank.times_awaited},
                       {"delay", aligned_json(rank.delay)},
                       {"delay_interval_ns", interval_json(rank.delay_interval)}});
    return Json{{"steps", found.per_step ? Json(waits.steps) : Json(nullptr)}, {"ranks", ranks}};
  };
  return {{"kernels", all.kernels},
          {"matched", count(MatchState::matched)},
          {"without_other_half", count(MatchState::alone)},
          {"of_other_size", count(MatchState::contradicted)},
          {"told_more_than_once", count(MatchState::repeated)},
          {"clock_unknown", all.clock_unknown},
          {"kernels_untold", all.kernels_untold},
          {"without_kernel", all.without_kernel},
          {"sent_ahead", all.sent_ahead},
          {"unmatched", unmatched},
          {"physics", physics_json(all.physics)},
          {"waits_are_per", found.per_step ? "step" : "kernel"},
          {"cells", by_cell(found.cells, heading, waits_json)}};
}

Json recurrence_json(const std::optional<Recurrence>& found) {
  return found ? Json{{"every", found->every},
                      {"first", found->first},
                      {"steps", found->steps},
                      {"late", found->late}}
               : Json(nullptr);
}

// Null if the rank was never last.
Json recurring_json(const std::optional<RecurringLateness>& found) {
  if (!found)
    return nullptr;
  const bool two_groups = found->late > 0;
  return {{"steps", found->steps},
          {"last_in", found->last},
          {"when_last", aligned_json(found->when_last)},
          {"late_in", two_groups ? Json(found->late) : Json(nullptr)},
          {"when_late", two_groups ? aligned_json(found->when_late) : Json(nullptr)},
          {"else_ns", two_groups ? Json(found->else_ns) : Json(nullptr)},
          {"recurrence", recurrence_json(found->recurrence)}};
}

Json stragglers_json(const Stragglers& found) {
  Json ranks = Json::array();
  for (const Straggler& rank : found.ranks)
    ranks.push_back({{"rank", rank.rank},
                     {"lateness", aligned_json(rank.lateness)},
                     {"lateness_interval_ns", interval_json(rank.lateness_interval)},
                     {"score", nullable(rank.score)},
                     {"score_interval", interval_json(rank.score_interval)}, // infinite: null
                     {"times_last", rank.times_last},
                     {"delay", aligned_json(rank.delay)},
                     {"delay_interval_ns", interval_json(rank.delay_interval)},
                     {"recurring", recurring_json(rank.recurring)}});
  return {{"collectives", found.skew.collectives},
          {"complete", found.skew.complete},
          {"on_one_rank_only", found.skew.single},
          {"sampled", found.sampled},
          {"steps", found.steps},
          {"delay_is_per", found.per_step ? "step" : "collective"},
          {"recurring_is_per", found.lateness_per_step ? "step" : "collective"},
          {"collectives_in_repeated_step",
           found.repeated_collectives > 0 ? Json(found.repeated_collectives) : Json(nullptr)},
          {"start_skew",
           {{"median", aligned_json(found.skew.median)},
            {"median_interval_ns", interval_json(found.skew.median_interval)},
            {"p99", aligned_json(found.skew.p99)},
            {"p99_interval_ns", interval_json(found.skew.p99_interval)},
            {"largest", aligned_json(found.skew.largest)}}},
          {"ranks", ranks}};
}

// Null without times of channels.
Json channels_json(const ChannelTimes& channels) {
  if (channels.operations == 0)
    return nullptr;
  Json medians = Json::array();
  for (const auto& [channel, lengths] : channels.lengths_ns)
    medians.push_back({{"channel", channel}, {"median_ns", median(lengths.values())}});
  return {{"operations", channels.operations},
          {"median_starts_apart_ns", median(channels.starts_apart_ns.values())},
          {"median_ends_apart_ns", median(channels.ends_apart_ns.values())},
          {"channels", medians}};
}

// Of communicators, by how many lack them.
Json missing_json(const std::vector<MissingRanks>& missing) {
  Json out = Json::array();
  for (const MissingRanks& one : missing)
    out.push_back({{"communicators", one.communicators},
                   {"communicator_size", one.size},
                   {"ranks", one.ranks}});
  return out;
}

} // namespace

std::string render_timeline_json(const Timeline& timeline, const TimelineHeading& heading) {
  auto text = [&](std::uint32_t id) {
    return id < timeline.texts.size() ? timeline.texts[id] : std::string();
  };
  Json out{{"timeline", heading.title},
           {"tracing_cost", heading.cost.empty() ? Json(nullptr) : Json(heading.cost)},
           {"notes", heading.notes},
           {"missing_ranks", missing_json(timeline.missing)},
           {"clock", clock_json(timeline.clocks)},
           {"physics", physics_json(timeline.physics)},
           {"ledger", ledger_json(timeline.ledger)},
           {"joins", joins_json(timeline.joins)},
           {"gaps", by_cell(timeline.gaps, heading, gaps_json)},
           {"stragglers", by_cell(timeline.stragglers, heading, stragglers_json)},
           {"messages", messages_json(timeline.messages, heading)}};
  out["slowdowns"] = Json::array();
  for (const Slowdown& slowdown : timeline.slowdowns)
    out["slowdowns"].push_back({{"kernel", text(slowdown.kind.name)},
                                {"communication", slowdown.kind.communication},
                                {"cell", slowdown.kind.cell},
                                {"operation_index", slowdown.kind.operation_index},
                                {"shape", slowdown.kind.shape},
                                {"overlapped", slowdown.overlapped},
                                {"alone", slowdown.alone},
                                {"alone_in_cell", slowdown.alone_cell},
                                {"ratio", nullable(slowdown.ratio)},
                                {"ratio_error", slowdown.ratio_error},
                                {"interval", interval_json(slowdown.interval)},
                                {"sum_ns", slowdown.sum_ns}});
  for (bool communication : {false, true})
    out[communication ? "communication_slowdown" : "compute_slowdown"] =
        by_cell(sums_of(timeline.slowdowns, communication), heading, [](const SlowdownSum& sum) {
          return Json{{"ratio", nullable(sum.ratio())},
                      {"ratio_error", sum.ratio() ? Json(sum.ratio_error()) : Json(nullptr)}};
        });
  out["nccl"] = Json::array();
  for (const auto& [choice, time] : timeline.choices)
    out["nccl"].push_back({{"cell", choice.cell < 0 ? Json(nullptr) : Json(choice.cell)},
                           {"function", text(choice.function)},
                           {"algorithm", text(choice.algorithm)},
                           {"protocol", text(choice.protocol)},
                           {"channels", choice.channels},
                           {"operations", time.operations},
                           {"timed", time.timed},
                           {"length_ns", time.length_ns},
                           {"wait_ns", time.wait_ns},
                           {"wait_error_ns", time.wait_error_ns},
                           {"channel_times", channels_json(time.channels)}});
  out["ranks"] = Json::array();
  for (const RankTimeline& rank : timeline.ranks)
    out["ranks"].push_back(rank_json(rank, heading));
  // Kernel names come from anywhere.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::analysis
