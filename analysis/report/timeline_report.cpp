// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/timeline_report.h"

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"
#include "base/name_ranks.h"

#include <algorithm>

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

constexpr FindingKind k_no_kernels{
    "no_kernels_traced", Severity::warning,
    "no kernels were traced: communication is known from NCCL's channels only, and computation is "
    "unknown{heard}"},
    k_kernels_of_some{"kernels_of_some_steps", Severity::note,
                      "kernels of {steps} steps of ranks were recorded{in_words}"},
    k_ranks_without_trace{
        "ranks_without_trace", Severity::warning,
        "{who} left no trace here (communicators of {communicator_size} ranks: "
        "{communicators}). It is unknown who came last or waited there: all of that "
        "time counts as transfer"},
    k_reading_left_out{
        "clock_reading_left_out", Severity::warning,
        "a reading of the clock of rank {rank}'s {clock}, {after_first_s:.3f} s after "
        "the first, is left out: the others contradict it by {by_us:.2f} us"},
    k_events_left_out{
        "clock_events_left_out", Severity::warning,
        "NCCL events left out of the comparison of clocks (contradicted by everything "
        "else): {events}"},
    k_clock_in_pieces{"clock_in_pieces", Severity::warning,
                      "the clock of rank {rank}'s {clock} changes its rate: it is fitted "
                      "in {pieces} parts, which adds {bend_us:.2f} us to its error"},
    k_readings_contradict{"clock_readings_contradict", Severity::warning,
                          "readings of the clock of rank {rank}'s {clock} contradict each other, "
                          "which adds {widened_us:.2f} us to its error"},
    k_collectives_unused{"clock_without_collectives", Severity::warning,
                         "the clock of rank {rank}'s GPU is fitted to its readings alone, "
                         "because collectives contradict them"};

Section origin_section(const Timeline& timeline, const TimelineHeading& heading) {
  Section section{.key = "heading", .part = Section::Part::provenance};
  std::uint64_t kernels = 0, copies = 0, operations = 0, steps = 0, without = 0;
  for (const RankTimeline& rank : timeline.ranks) {
    kernels += rank.kernels;
    copies += rank.copies;
    operations += rank.nccl_operations;
    without += rank.without_times;
    steps = std::max(steps, rank.steps_of_cells());
  }
  section.add("Timeline", heading.title, k_timeline_hang);
  section.add(
      "Traced",
      fmt::format(
          "{}, {}; {} kernels, {} copies, {} NCCL operations{}",
          count_of(timeline.ranks.size(), "rank", "ranks"),
          steps > 0 ? grouped(steps) + " steps" : "no steps (the whole trace counts as one)",
          grouped(kernels), grouped(copies), grouped(operations),
          without > 0 ? fmt::format("; {} without times are left out", grouped(without)) : ""),
      k_timeline_hang);
  for (const Finding& note : heading.origin)
    section.blocks.push_back(Findings{"Note", {note}, k_timeline_hang});
  return section;
}

// How far the figures can be trusted.
class QualitySection {
public:
  QualitySection(const Timeline& timeline, const TimelineHeading& heading)
      : timeline_(timeline), heading_(heading) {}

  Section take() {
    std::uint64_t kernels = 0, with_kernels = 0;
    bool from_nccl = false, heard = false;
    for (const RankTimeline& rank : timeline_.ranks) {
      kernels += rank.kernels;
      from_nccl = from_nccl || rank.from_nccl;
      heard = heard || rank.heard > 0;
      for (const auto& [cell, sum] : rank.cells)
        with_kernels += sum.steps_with_kernels;
    }
    if (from_nccl && kernels > 0)
      found("Kernels", {&k_kernels_of_some,
                        {{"steps", with_kernels},
                         {"in_words", with_kernels > 0 ? "; computing is known for these"
                                                       : ": no step was recorded whole"}}});
    else if (from_nccl)
      found("Kernels", {&k_no_kernels,
                        {{"heard", heard ? "; some times were taken by the host, late by an "
                                           "unknown amount"
                                         : ""}}});
    line("Clock", clock_text());
    add_clock_findings();
    line("", physics_text());
    line("Losses", losses_text());
    const JoinCounts& joins = timeline_.joins;
    if (joins.operations > 0)
      line("Joined",
           fmt::format("{}channels: {}; proxy steps: {}{}", kernels_joined(from_nccl),
                       share(joins.channels_joined, joins.channels),
                       share(joins.proxy_steps_joined, joins.proxy_steps), outside_text()));
    if (std::uint64_t told = timeline_.ledger.calls_told)
      line("", fmt::format(
                   "calls were joined with the schedule's operations by time; CUPTI confirms {}",
                   share(told - timeline_.ledger.calls_unlike, told)));
    line("Cost", heading_.cost.empty() ? "of tracing: unknown (no untraced trial to compare with)"
                                       : "of tracing: " + heading_.cost);
    for (const Finding& note : heading_.notes)
      found("Note", note);
    for (const MissingRanks& missing : timeline_.missing)
      found("Note", {&k_ranks_without_trace,
                     described_with(missing, {{"who", base::name_ranks(missing.ranks)}})});
    return std::move(section_);
  }

private:
  void line(const char* label, std::string text) {
    section_.blocks.push_back(Text{label, std::move(text), k_timeline_hang});
  }
  void found(const char* label, Finding finding) {
    section_.blocks.push_back(Findings{label, {std::move(finding)}, k_timeline_hang});
  }

  std::string kernels_joined(bool from_nccl) const {
    const JoinCounts& joins = timeline_.joins;
    if (joins.kernels == 0 && from_nccl)
      return ""; // there are none to join
    return fmt::format(
        "kernels with NCCL's operations: {}, {} of them by time alone; operations with "
        "kernels: {}; ",
        share(joins.kernels_by_key + joins.kernels_by_time, joins.kernels),
        grouped(joins.kernels_by_time), share(joins.operations_joined, joins.operations));
  }

  std::string outside_text() const {
    const JoinCounts& joins = timeline_.joins;
    std::string overwritten;
    if (joins.channels_overwritten > 0)
      overwritten = fmt::format("; {} channels have no time by the GPU's clock: later kernels "
                                "overwrote it before NCCL read it",
                                grouped(joins.channels_overwritten));
    if (joins.channels_compared == 0)
      return overwritten;
    if (*joins.worst_outside_ns <= 0)
      return overwritten + "; by the GPU's clock, all channels ran within their kernels";
    return overwritten +
           fmt::format("; by the GPU's clock, channels of {} of {} operations ran outside their "
                       "kernels, by up to {} us, which is more than the clock's error",
                       grouped(joins.channels_outside), grouped(joins.channels_compared),
                       us(static_cast<double>(*joins.worst_outside_ns)));
  }

  std::string clock_text() const {
    const Clocks& clocks = timeline_.clocks;
    std::string text = clocks.hosts <= 1 ? "one host: all ranks share its clock"
                                         : fmt::format("{} hosts", clocks.hosts);
    // With several hosts, the first may have only one supervisor.
    if (clocks.same_host_readings > 0 && (clocks.hosts <= 1 || clocks.same_host_error_ns > 0))
      text += fmt::format(", checked by {} to +- {} us{}",
                          count_of(clocks.same_host_readings, "reading", "readings"),
                          us(clocks.same_host_error_ns),
                          clocks.same_host_contradictions > 0
                              ? fmt::format("; {} contradict it", clocks.same_host_contradictions)
                              : "");
    if (clocks.hosts > 1) {
      const double error_ns = clocks.worst_host_error_ns();
      if (clocks.inferred_hosts > 0)
        text += fmt::format("; {} never compared, but aligned to +- {} us by {} collectives (none "
                            "can end before all ranks have begun)",
                            clocks.inferred_hosts + 1 == clocks.hosts
                                ? "their clocks were"
                                : fmt::format("the clocks of {} were", clocks.inferred_hosts),
                            us(error_ns), grouped(clocks.inferred_from));
      else
        text += fmt::format(", whose clocks are known to +- {} us", us(error_ns));
      if (!clocks.all_known())
        text += "; some hosts' clocks were never compared: comparisons between ranks leave out "
                "their ranks";
    }
    const auto gpus = static_cast<std::size_t>(std::ranges::count_if(
        clocks.ranks, [](const auto& rank) { return rank.second.gpu.has_value(); }));
    if (gpus > 0)
      text += fmt::format("; clocks of {} are known to +- {} us", count_of(gpus, "GPU", "GPUs"),
                          us(clocks.worst_gpu_error_ns()));
    if (const auto among_ns = clocks.worst_error_among_gpus_ns())
      text +=
          fmt::format(", and with collectives to +- {} us relative to each other", us(*among_ns));
    return text;
  }

  // Readings and clocks that do not fit the rest.
  void add_clock_findings() {
    const Clocks& clocks = timeline_.clocks;
    auto clock = [](const auto& one) {
      return Object{{"rank", one.rank},
                    {"clock", one.kind == trace::ClockKind::host ? "host" : "GPU"}};
    };
    auto with = [](Object values, Object more) {
      std::ranges::move(more, std::back_inserter(values));
      return values;
    };
    std::vector<Finding> all;
    for (const Clocks::Contradicted& one : clocks.contradicted)
      all.push_back(
          {&k_reading_left_out, with(clock(one), {{"by_us", one.by_ns / 1e3},
                                                  {"after_first_s", one.after_first_ns / 1e9}})});
    if (clocks.contradicted_events > 0)
      all.push_back({&k_events_left_out, {{"events", clocks.contradicted_events}}});
    for (const Clocks::Bent& one : clocks.bent) {
      if (one.pieces > 1)
        all.push_back({&k_clock_in_pieces,
                       with(clock(one), {{"pieces", one.pieces}, {"bend_us", one.bend_ns / 1e3}})});
      if (one.widened_ns > 0)
        all.push_back(
            {&k_readings_contradict, with(clock(one), {{"widened_us", one.widened_ns / 1e3}})});
    }
    for (int rank : clocks.collectives_unused)
      all.push_back({&k_collectives_unused, {{"rank", rank}}});
    for (std::size_t i = 0; i < std::min(all.size(), k_most_rows); ++i)
      found("", std::move(all[i]));
    if (all.size() > k_most_rows)
      line("", fmt::format("{} more of these in --format json", all.size() - k_most_rows));
  }

  static std::string physics_text(const PhysicsCheck& physics, const char* what) {
    if (physics.checked == 0)
      return fmt::format("all {} {} were used to align the clocks: none is left to check them",
                         grouped(physics.made_the_clocks), what);
    std::string text = fmt::format("{} violations in {} {}, smallest margin {} us",
                                   grouped(physics.violations), grouped(physics.checked), what,
                                   us(static_cast<double>(*physics.worst_margin_ns)));
    if (physics.violations > 0)
      text += fmt::format(" ({} beyond the clocks' error)", grouped(physics.beyond_bound));
    if (physics.made_the_clocks > 0)
      text += fmt::format("; {} more were used to align the clocks and cannot check them",
                          grouped(physics.made_the_clocks));
    return text;
  }
  std::string physics_text() const {
    std::string text;
    const PhysicsCheck& collectives = timeline_.physics;
    if (collectives.checked + collectives.made_the_clocks > 0)
      text = physics_text(collectives, "collectives that cannot end before all ranks have begun");
    if (timeline_.messages.all.physics.checked > 0)
      text += (text.empty() ? "" : "; ") +
              physics_text(timeline_.messages.all.physics,
                           "receives that cannot end before their send has begun");
    return text.empty() ? "no collective or receive to check the clocks with" : text;
  }

  std::string losses_text() const {
    const Ledger& ledger = timeline_.ledger;
    std::string named;
    for (auto [name, count] : {std::pair{"dropped by the library", ledger.dropped_by_library},
                               {"without times", ledger.no_times},
                               {"because our queue was full", ledger.own_queue},
                               {"that could not be written", ledger.file},
                               {"of unknown kind", ledger.unknown_record}})
      if (count > 0)
        named += fmt::format("{}{} {}", named.empty() ? " (" : ", ", grouped(count), name);
    if (!named.empty())
      named += ")";
    std::string text =
        ledger.launches_seen
            ? fmt::format("{} launches = {} kernels delivered + {} lost{} + {} unexplained",
                          grouped(*ledger.launches_seen),
                          grouped(ledger.kernels_delivered.value_or(0)),
                          grouped(ledger.named_losses()), named, grouped(*ledger.unexplained()))
            : fmt::format("{} lost{}; launches were not counted", grouped(ledger.named_losses()),
                          named);
    if (ledger.surplus().value_or(0) > 0)
      text += fmt::format("; {} more kernels than launches", grouped(*ledger.surplus()));
    if (ledger.plugin > 0)
      text += fmt::format("; {} of NCCL's events lost", grouped(ledger.plugin));
    if (ledger.ranges > 0)
      text += fmt::format("; {} NVTX ranges lost", grouped(ledger.ranges));
    return text;
  }

  const Timeline& timeline_;
  const TimelineHeading& heading_;
  Section section_{.key = "quality", .part = Section::Part::method};
};

Value ledger_value(const Ledger& ledger) {
  return described_with(ledger,
                        {{"unexplained", ledger.unexplained()}, {"surplus", ledger.surplus()}});
}

// The offset at the moment from which the clock is used; the error is the largest during its use.
Value clock_model_value(const std::optional<ClockModel>& one, const Span& use) {
  if (!one)
    return nullptr;
  const auto at_ns = static_cast<std::uint64_t>(use.begin);
  return described_with(
      *one, {{"at_ns", at_ns},
             {"offset_ns", one->to_reference(at_ns) - static_cast<std::int64_t>(at_ns)},
             {"rate_ppb", one->mean_rate() * 1e9},
             {"error_ns", one->worst_error_ns(at_ns, static_cast<std::uint64_t>(use.end))}});
}

Value clocks_value(const Clocks& clocks) {
  auto name_of = [](trace::ClockKind kind) {
    return kind == trace::ClockKind::host ? "host" : "globaltimer";
  };
  List ranks, contradicted, bent;
  for (const auto& [rank, clock] : clocks.ranks)
    ranks.push_back(Object{{"rank", rank},
                           {"host", clock.host_index},
                           {"to_first_host", clock_model_value(clock.host, clock.host_use)},
                           {"globaltimer", clock_model_value(clock.gpu, clock.gpu_use)},
                           {"globaltimer_beside_rank", clock.gpu_reference}});
  for (const Clocks::Contradicted& one : clocks.contradicted)
    contradicted.push_back(Object{{"rank", one.rank},
                                  {"clock", name_of(one.kind)},
                                  {"at_ns", one.at_ns},
                                  {"after_first_reading_ns", one.after_first_ns},
                                  {"by_ns", one.by_ns}});
  for (const Clocks::Bent& one : clocks.bent)
    bent.push_back(Object{{"rank", one.rank},
                          {"clock", name_of(one.kind)},
                          {"pieces", one.pieces},
                          {"bend_ns", one.bend_ns},
                          {"widened_ns", one.widened_ns}});
  return described_with(clocks, {{"all_known", clocks.all_known()},
                                 {"worst_error_ns", clocks.worst_host_error_ns()},
                                 {"worst_gpu_error_ns", clocks.worst_gpu_error_ns()},
                                 {"worst_error_among_gpus_ns", clocks.worst_error_among_gpus_ns()},
                                 {"contradicted_readings", std::move(contradicted)},
                                 {"not_at_one_rate", std::move(bent)},
                                 {"collectives_unused_of_ranks", clocks.collectives_unused},
                                 {"ranks", std::move(ranks)}});
}

struct Figures {
  Timeline timeline;
  TimelineHeading heading;
};

} // namespace

Report timeline_report(Timeline found, TimelineHeading told) {
  const auto figures = std::make_shared<const Figures>(Figures{std::move(found), std::move(told)});
  const auto& [timeline, heading] = *figures;
  Report report{.title = "Timeline of " + heading.title,
                .sections = {origin_section(timeline, heading), timeline_answer(timeline, heading),
                             QualitySection(timeline, heading).take()},
                .data = {{"schema", "ncclprobe.timeline"},
                         {"schema_version", 1},
                         {"timeline", heading.title},
                         {"tracing_cost", heading.cost.empty() ? Value() : Value(heading.cost)},
                         {"missing_ranks", timeline.missing},
                         {"clock", clocks_value(timeline.clocks)},
                         {"physics", timeline.physics},
                         {"ledger", ledger_value(timeline.ledger)},
                         {"joins", timeline.joins}},
                .figures = {figures}};
  append(report, job_report(timeline, heading));
  append(report, phases_report(timeline, heading));
  Report causes = job_causes_report(timeline, heading);
  Report steps = steps_report(timeline, heading);
  report.rows = causes.rows ? causes.rows : steps.rows;
  append(report, std::move(causes));
  append(report, std::move(steps));
  append(report, stragglers_report(timeline, heading));
  append(report, messages_report(timeline, heading));
  append(report, slowdowns_report(timeline, heading));
  append(report, choices_report(timeline));
  append(report, gaps_report(timeline, heading));
  return report;
}

} // namespace ncclprobe::analysis
