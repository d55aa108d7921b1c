// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/job_words.h"
#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"
#include "base/name_ranks.h"
#include "base/units.h"

namespace ncclprobe::analysis {

using namespace timeline;
using base::format_duration;

namespace {

constexpr double k_worth_telling = 0.01; // of a step
constexpr double k_worth_acting = 0.05;

constexpr FindingKind k_mean_step{"mean_step", Severity::note, "{in_words}"},
    k_held_up_by{"held_up_by", Severity::note, "{in_words}"},
    k_rank_holds_up{"rank_holds_up", Severity::note,
                    "Rank {rank} holds the others up: it comes last in {times} of {collectives} "
                    "collectives, which costs {delay}{of_step}."},
    k_no_rank_holds_up{"no_rank_holds_up", Severity::note,
                       "No rank holds the others up: the latest costs {share} of a step."},
    k_exposed_transfer{"exposed_transfer", Severity::note,
                       "The largest loss is exposed transfer. 'ncclprobe tune' looks for faster "
                       "settings; transfers that begin earlier hide more behind computing."},
    k_exposed_wait{
        "exposed_wait", Severity::note,
        "The largest loss is waiting for late ranks: see below who comes late, and why."},
    k_exposed_communication{"exposed_communication", Severity::note,
                            "The largest loss is exposed communication. How much of it waits for "
                            "late ranks is unknown."},
    k_idle_streams{"idle_streams", Severity::note,
                   "The largest loss is idle streams: see below why they were idle."},
    k_little_to_gain{"little_to_gain", Severity::note,
                     "Neither communication nor idle streams cost {least} of a step: only faster "
                     "computing would help much."},
    k_record_kernels{"record_kernels", Severity::note,
                     "Record kernels too (record --cuda, run --trace kernels): they show what "
                     "hides communication, and who computes slowly."};

std::string part_words(double share) {
  const double value = 100 * share;
  return value < 0.05 ? "0%" : fmt::format("{:.{}f}%", value, value < 10 ? 1 : 0);
}

// The cell that says most: if possible one that computes and communicates, then the longest.
struct AnsweredCell {
  int cell = -1;
  PartsSum sum; // of all ranks
  bool of_many = false;
  bool knows_waits = false;

  double share(std::int64_t part_ns) const {
    return static_cast<double>(part_ns) / static_cast<double>(sum.parts.length_ns);
  }
  double step_ns() const {
    return static_cast<double>(sum.parts.length_ns) / static_cast<double>(sum.steps);
  }
  double idle() const { return share(sum.parts.idle_ns + sum.parts.helper_ns); }
};

std::optional<AnsweredCell> answered_cell(const Timeline& timeline) {
  ByCell<PartsSum> cells;
  for (const RankTimeline& rank : timeline.ranks)
    for (const auto& [cell, sum] : rank.cells)
      cells[cell].add(sum);
  std::erase_if(cells, [](const auto& cell) {
    return cell.second.steps == 0 || cell.second.parts.length_ns == 0;
  });
  const auto best = std::ranges::max_element(cells, {}, [](const auto& cell) {
    const TimeParts& parts = cell.second.parts;
    return std::pair(parts.compute_ns > 0 && parts.communication_ns > 0, parts.length_ns);
  });
  if (best == cells.end())
    return std::nullopt;
  return AnsweredCell{
      best->first, best->second, cells.size() > 1,
      std::ranges::any_of(timeline.ranks, [](const auto& rank) { return rank.matched > 0; })};
}

// "A step of cell 4 (all, 8 ranks)"; names may be long.
std::string subject(const AnsweredCell& one, const TimelineHeading& heading) {
  constexpr std::size_t k_most = 48;
  if (one.cell < 0)
    return "The trace of a rank";
  if (!one.of_many)
    return "A step";
  const auto found = heading.cells.find(one.cell);
  std::string name = found == heading.cells.end() ? "" : found->second;
  if (name.size() > k_most)
    name.resize(std::min(name.rfind(", ", k_most), k_most));
  return fmt::format("A step of cell {}{}", one.cell, name.empty() ? "" : " (" + name + ")");
}

Finding mean_step(const AnsweredCell& one, const TimelineHeading& heading) {
  const TimeParts& parts = one.sum.parts;
  const double compute = one.share(parts.compute_ns), exposed = one.share(parts.exposed_ns());
  const std::string exposed_words =
      fmt::format("{} exposed communication", part_words(exposed)) +
      (exposed < k_worth_telling || !one.knows_waits
           ? ""
           : fmt::format(" ({} waits for late ranks, {} transfers)",
                         part_words(one.share(parts.exposed_wait_ns)),
                         part_words(one.share(parts.exposed_transfer_ns))));
  std::string words = fmt::format("{} takes {} on average: ", subject(one, heading),
                                  format_duration(one.step_ns()));
  if (parts.compute_ns > 0) {
    words += fmt::format("{} computing, {}", part_words(compute), exposed_words);
    if (const double copies = one.share(parts.memory_ns); copies >= k_worth_telling)
      words += fmt::format(", {} copies", part_words(copies));
    words += fmt::format(", {} idle.", part_words(one.idle()));
    if (parts.communication_ns > 0)
      words += fmt::format(" {} of its communication is hidden behind computing.",
                           part_words(static_cast<double>(parts.hidden_ns) /
                                      static_cast<double>(parts.communication_ns)));
  } else {
    words += exposed_words + ". No computing was recorded.";
  }
  return {&k_mean_step,
          {{"cell", cell_value(one.cell)},
           {"step_ns", one.step_ns()},
           {"compute", compute},
           {"hidden", one.share(parts.hidden_ns)},
           {"exposed_wait", one.share(parts.exposed_wait_ns)},
           {"exposed_transfer", one.share(parts.exposed_transfer_ns)},
           {"idle", one.idle()},
           {"in_words", std::move(words)}}};
}

// The largest of what exceeds the usual in a captured job.
std::optional<Finding> held_up_by(const AnsweredCell& one, const TimelineHeading& heading) {
  if (!heading.causes)
    return std::nullopt;
  const job::HeldUp& held_up = heading.causes->held_up;
  const job::HoldUp* most = nullptr;
  for (const job::HoldUp& candidate : held_up.hold_ups)
    if (static_cast<int>(candidate.kind) == one.cell &&
        (!most || most->excess.mean_ns < candidate.excess.mean_ns))
      most = &candidate;
  if (!most || most->excess.mean_ns < k_worth_telling * one.step_ns())
    return std::nullopt;
  const job::DelayOrigin& origin = most->origin;
  const std::vector<int> ranks =
      origin.communicator >= 0
          ? heading.causes->communicators[static_cast<std::size_t>(origin.communicator)].ranks
          : std::vector<int>(origin.rank >= 0 ? 1 : 0, origin.rank);
  std::string who = base::name_ranks(ranks);
  if (!who.empty())
    who[0] = 'R';
  const std::string cost = fmt::format(
      "{} a step ({}), in {} of {} steps", format_duration(most->excess.mean_ns),
      part_words(most->excess.mean_ns / one.step_ns()), most->steps, held_up.steps[most->kind]);
  return Finding{
      &k_held_up_by,
      {{"cell", one.cell},
       {"cause", origin.cause},
       {"ranks", ranks},
       {"excess_ns", most->excess.mean_ns},
       {"in_words",
        ranks.empty() ? fmt::format("No single cause holds the job up: small delays cost {}.", cost)
                      : fmt::format("{} hold{} the job up most ({}{}): {}.", who,
                                    ranks.size() == 1 ? "s" : "", cause_text(origin.cause),
                                    most->phase < 0 ? ""
                                                    : fmt::format(", in phase {}",
                                                                  phase_name(held_up, most->phase)),
                                    cost)}}};
}

std::optional<Finding> latest_rank(const AnsweredCell& one, const Timeline& timeline) {
  const auto found = timeline.stragglers.find(one.cell);
  if (found == timeline.stragglers.end() || found->second.skew.collectives == 0)
    return std::nullopt;
  const auto& ranks = found->second.ranks;
  const auto latest = std::ranges::max_element(
      ranks, {}, [](const Straggler& rank) { return rank.delay.value_ns; });
  if (latest == ranks.end())
    return std::nullopt;
  const double share = latest->delay.value_ns / one.step_ns();
  const bool per_step = found->second.per_step;
  if (!latest->delay.is_shown() || latest->times_last == 0 || (per_step && share < k_worth_telling))
    return per_step ? std::optional(Finding{&k_no_rank_holds_up, {{"share", part_words(share)}}})
                    : std::nullopt;
  return Finding{
      &k_rank_holds_up,
      {{"rank", latest->rank},
       {"times", grouped(latest->times_last)},
       {"collectives", grouped(found->second.skew.collectives)},
       {"delay_ns", latest->delay.value_ns},
       {"delay", format_duration(latest->delay.value_ns)},
       {"of_step", per_step ? fmt::format(" a step ({})", part_words(share)) : " per collective"}}};
}

Finding what_to_do(const AnsweredCell& one) {
  const TimeParts& parts = one.sum.parts;
  std::vector<std::pair<double, const FindingKind*>> losses;
  if (one.knows_waits)
    losses = {{one.share(parts.exposed_transfer_ns), &k_exposed_transfer},
              {one.share(parts.exposed_wait_ns), &k_exposed_wait}};
  else
    losses = {{one.share(parts.exposed_ns()), &k_exposed_communication}};
  if (parts.compute_ns > 0) // otherwise computing looks idle
    losses.emplace_back(one.idle(), &k_idle_streams);
  const auto& [share, kind] = *std::ranges::max_element(losses);
  if (share >= k_worth_acting)
    return {kind, {{"share", share}}};
  if (parts.compute_ns == 0)
    return {&k_record_kernels, {}};
  return {&k_little_to_gain, {{"least", part_words(k_worth_acting)}}};
}

} // namespace

Section timeline_answer(const Timeline& timeline, const TimelineHeading& heading) {
  Section section{.key = "answer", .part = Section::Part::answer};
  const auto one = answered_cell(timeline);
  if (!one)
    return section;
  std::vector<Finding> found{mean_step(*one, heading)};
  if (timeline.clocks_are_wrong())
    found.push_back(wrong_clocks(timeline));
  else if (auto cause = held_up_by(*one, heading))
    found.push_back(std::move(*cause));
  else if (auto rank = latest_rank(*one, timeline))
    found.push_back(std::move(*rank));
  section.blocks = {Findings{"Answer", std::move(found), k_timeline_hang},
                    Findings{"To do", {what_to_do(*one)}, k_timeline_hang}};
  return section;
}

} // namespace ncclprobe::analysis
