// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/timeline_report.h"

#include "analysis/report/message_section.h"
#include "analysis/report/text_layout.h"
#include "analysis/report/timeline_words.h"
#include "analysis/statistics.h"
#include "base/text_table.h"

#include <algorithm>
#include <numeric>

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

constexpr int k_hang = 10;
constexpr std::size_t k_most_ranks = 32;

std::string shortened(const std::string& text, std::size_t most) {
  std::string out = printable(text);
  return out.size() <= most ? out : out.substr(0, most - 3) + "...";
}

std::string text_of(const Timeline& timeline, std::uint32_t id) {
  return id < timeline.texts.size() ? timeline.texts[id] : "";
}

std::string cell_name(const TimelineHeading& heading, int cell) {
  auto found = heading.cells.find(cell);
  return found == heading.cells.end() ? fmt::format("cell {}", cell)
                                      : fmt::format("{}: {}", cell, found->second);
}

class Writer {
public:
  Writer(const Timeline& timeline, const TimelineHeading& heading)
      : timeline_(timeline), heading_(heading) {}

  std::string write() {
    head();
    if (timeline_.ranks.empty())
      return std::move(out_);
    steps_by_rank();
    steps_by_cell();
    streams();
    stragglers();
    if (std::string messages = render_messages(timeline_.messages); !messages.empty())
      out_ += "\n" + messages;
    slowdown();
    choices();
    gaps();
    return std::move(out_);
  }

private:
  void line(const std::string& title, const std::string& text) {
    out_ += paragraph(title, text, k_hang);
  }
  void section(const std::string& title) { out_ += "\n" + title + "\n"; }

  void head() {
    std::uint64_t kernels = 0, copies = 0, operations = 0, steps = 0, without = 0;
    bool from_nccl = false, heard = false;
    for (const RankTimeline& rank : timeline_.ranks) {
      kernels += rank.kernels;
      copies += rank.copies;
      operations += rank.nccl_operations;
      without += rank.without_times;
      steps = std::max(steps, rank.cells.contains(-1) ? 0 : rank.all.steps);
      from_nccl = from_nccl || rank.from_nccl;
      heard = heard || rank.heard > 0;
    }
    line("Timeline", heading_.title);
    line("Traced",
         fmt::format("{}, {}; {} kernels, {} copies, {} NCCL operations{}",
                     count_of(timeline_.ranks.size(), "rank", "ranks"),
                     steps > 0 ? grouped(steps) + " steps" : "no steps (all is one)",
                     grouped(kernels), grouped(copies), grouped(operations),
                     without > 0 ? fmt::format("; {} without times, left out", grouped(without))
                                 : ""));
    if (from_nccl)
      line("", "no kernels were traced: communication is what NCCL told of its channels, and "
               "computation is unknown" +
                   std::string(heard ? "; some times are when the host heard of it, late by an "
                                       "unknown time"
                                     : ""));
    line("Clock", clock_text());
    line("", physics_text());
    line("Losses", losses_text());
    const JoinCounts& joins = timeline_.joins;
    if (joins.operations > 0)
      line("Joined",
           fmt::format("kernels with NCCL's operations {}, of these {} by time alone; "
                       "operations with kernels {}; channels {}; proxy steps {}{}",
                       share(joins.kernels_by_key + joins.kernels_by_time, joins.kernels),
                       grouped(joins.kernels_by_time),
                       share(joins.operations_joined, joins.operations),
                       share(joins.channels_joined, joins.channels),
                       share(joins.proxy_steps_joined, joins.proxy_steps), outside_text()));
    line("Cost", heading_.cost.empty() ? "of tracing: unknown, no untraced trial beside this one"
                                       : "of tracing: " + heading_.cost);
    for (const std::string& note : heading_.notes)
      line("Note", note);
  }

  std::string outside_text() const {
    const JoinCounts& joins = timeline_.joins;
    std::string overwritten;
    if (joins.channels_overwritten > 0)
      overwritten = fmt::format("; {} channels' times by the GPU's clock are left out: NCCL read "
                                "them when later kernels had written over them",
                                grouped(joins.channels_overwritten));
    if (joins.channels_compared == 0)
      return overwritten;
    if (joins.worst_outside_ns <= 0)
      return overwritten + "; by the GPU's clock all channels ran within their kernels";
    return overwritten +
           fmt::format("; by the GPU's clock channels of {} of {} operations ran outside of their "
                       "kernels by more than that clock's error, up to {} us",
                       grouped(joins.channels_outside), grouped(joins.channels_compared),
                       us(static_cast<double>(joins.worst_outside_ns)));
  }

  std::string clock_text() const {
    const Clocks& clocks = timeline_.clocks;
    std::string text = clocks.hosts <= 1 ? "one host: all ranks share its clock"
                                         : fmt::format("{} hosts", clocks.hosts);
    // Among several hosts the first may have one supervisor, whose clock is its own.
    if (clocks.same_host_readings > 0 && (clocks.hosts <= 1 || clocks.same_host_error_ns > 0))
      text += fmt::format(", checked by {} to +- {} us{}",
                          count_of(clocks.same_host_readings, "reading", "readings"),
                          us(clocks.same_host_error_ns),
                          clocks.same_host_contradictions > 0
                              ? fmt::format("; {} contradict it", clocks.same_host_contradictions)
                              : "");
    if (clocks.hosts > 1) {
      double residual = 0;
      for (const auto& [rank, clock] : clocks.ranks)
        if (clock.host)
          residual = std::max(residual, clock.host->worst_residual_ns);
      if (clocks.inferred_hosts > 0)
        text += fmt::format(
            ", {}; aligned by what is possible (no all-reduce and the like ends on a rank before "
            "its last has begun: {} of them) to +- {} us",
            clocks.inferred_hosts + 1 == clocks.hosts
                ? "their clocks never compared"
                : fmt::format("the clocks of {} never compared", clocks.inferred_hosts),
            grouped(clocks.inferred_from), us(clocks.worst_error_ns()));
      else
        text += fmt::format(", their clocks known to +- {} us (of which off the line {} us)",
                            us(clocks.worst_error_ns()), us(residual));
      if (!clocks.all_known())
        text += "; some hosts' clocks were never compared: their ranks are left out of everything "
                "between ranks";
    }
    double gpu = 0;
    std::size_t gpus = 0;
    for (const auto& [rank, clock] : clocks.ranks)
      if (clock.gpu) {
        ++gpus;
        gpu = std::max(gpu, clock.gpu->error_ns);
      }
    if (gpus > 0)
      text +=
          fmt::format("; clocks of {} known to +- {} us", count_of(gpus, "GPU", "GPUs"), us(gpu));
    return text;
  }

  static std::string physics_text(const PhysicsCheck& physics, const char* what) {
    std::string text = fmt::format("{} violations in {} {}, least margin {} us",
                                   grouped(physics.violations), grouped(physics.checked), what,
                                   us(static_cast<double>(*physics.worst_margin_ns)));
    if (physics.violations > 0)
      text += fmt::format(" ({} beyond the clocks' error)", grouped(physics.beyond_bound));
    return text;
  }
  std::string physics_text() const {
    std::string text;
    if (timeline_.stragglers.physics.checked > 0)
      text = physics_text(timeline_.stragglers.physics,
                          "collectives that cannot end before all have begun") +
             (timeline_.clocks.inferred_hosts > 0
                  ? ", which is no check of the clocks: they were made from it"
                  : "");
    if (timeline_.messages.all.physics.checked > 0)
      text += (text.empty() ? "" : "; ") +
              physics_text(timeline_.messages.all.physics,
                           "receives that cannot end before their send has begun");
    return text.empty() ? "no collective or receive to check the clocks by" : text;
  }

  std::string losses_text() const {
    const Ledger& ledger = timeline_.ledger;
    std::string named;
    for (auto [name, count] : {std::pair{"dropped by the library", ledger.dropped_by_library},
                               {"without times", ledger.no_times},
                               {"our queue was full", ledger.own_queue},
                               {"could not be written", ledger.file},
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
            : fmt::format("{} lost{}; nobody counted launches", grouped(ledger.named_losses()),
                          named);
    if (ledger.surplus().value_or(0) > 0)
      text += fmt::format("; {} kernels more than launches", grouped(*ledger.surplus()));
    if (ledger.plugin > 0)
      text += fmt::format("; {} of NCCL's events lost", grouped(ledger.plugin));
    return text;
  }

  static base::TextTable parts_table(const std::string& first) {
    using Align = base::TextTable::Align;
    return base::TextTable({{first, first == "rank" ? Align::right : Align::left},
                            {"steps"},
                            {"step"},
                            {"compute"},
                            {"comm"},
                            {"hidden"},
                            {"overlap"},
                            {"exp.wait"},
                            {"exp.transfer"},
                            {"copies"},
                            {"idle"}});
  }
  static void add_parts(base::TextTable& table, const std::string& name, const PartsSum& sum) {
    const StepParts& parts = sum.parts;
    auto per_step = [&](std::int64_t ns) {
      return us(static_cast<double>(ns) /
                static_cast<double>(std::max<std::uint64_t>(1, sum.steps)));
    };
    Aligned wait{static_cast<double>(parts.exposed_wait_ns), sum.wait_error_ns};
    table.add_row(
        {name, grouped(sum.steps), per_step(parts.length_ns), per_step(parts.compute_ns),
         per_step(parts.communication_ns), per_step(parts.hidden_ns),
         percent(static_cast<double>(parts.hidden_ns), static_cast<double>(parts.communication_ns)),
         wait.is_shown() ? per_step(parts.exposed_wait_ns) : "<2x error",
         per_step(parts.exposed_transfer_ns), per_step(parts.memory_ns),
         per_step(parts.idle_ns + parts.helper_ns)});
  }

  void steps_by_rank() {
    section(
        "Mean step of each rank, us (step = compute + exposed wait + exposed transfer + copies + "
        "idle)");
    std::vector<const RankTimeline*> shown;
    for (const RankTimeline& rank : timeline_.ranks)
      shown.push_back(&rank);
    if (shown.size() > k_most_ranks) {
      std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) {
        return a->all.parts.exposed_wait_ns < b->all.parts.exposed_wait_ns;
      });
      shown.resize(k_most_ranks);
    }
    base::TextTable table = parts_table("rank");
    for (const RankTimeline* rank : shown)
      add_parts(table, std::to_string(rank->rank), rank->all);
    out_ += table.render(2);
    if (shown.size() < timeline_.ranks.size())
      out_ += paragraph("  ",
                        fmt::format("the {} of {} ranks that wait least; --format json has all",
                                    shown.size(), timeline_.ranks.size()),
                        2);
    std::uint64_t communications = 0, matched = 0;
    double error_ns = 0;
    std::uint64_t steps = 0;
    for (const RankTimeline& rank : timeline_.ranks) {
      communications += rank.communications;
      matched += rank.matched;
      error_ns += rank.all.wait_error_ns;
      steps += rank.all.steps;
    }
    std::string text =
        fmt::format("Waits are known of {} of communication", share(matched, communications));
    if (matched < communications)
      text += "; the rest counts as transfer";
    if (error_ns > 0 && steps > 0)
      text += fmt::format("; they may be wrong by {} us a step",
                          us(error_ns / static_cast<double>(steps)));
    out_ += paragraph("  ", text + ".", 2);
  }

  void steps_by_cell() {
    std::map<int, PartsSum> cells;
    for (const RankTimeline& rank : timeline_.ranks)
      for (const auto& [cell, sum] : rank.cells)
        cells[cell].add(sum);
    if (cells.size() < 2)
      return;
    section("Mean step of each cell, all ranks, us");
    base::TextTable table = parts_table("cell");
    for (const auto& [cell, sum] : cells)
      add_parts(table, shortened(cell_name(heading_, cell), 24), sum);
    out_ += table.render(2);
  }

  void streams() {
    bool several = std::any_of(timeline_.ranks.begin(), timeline_.ranks.end(),
                               [](const auto& rank) { return rank.streams.size() > 1; });
    if (!several)
      return;
    section("Streams that communicate, us in all");
    base::TextTable table({{"rank"}, {"stream"}, {"kernels"}, {"comm"}, {"hidden"}, {"overlap"}});
    std::size_t rows = 0;
    for (const RankTimeline& rank : timeline_.ranks)
      for (const StreamParts& stream : rank.streams)
        if (rows++ < 2 * k_most_ranks)
          table.add_row({std::to_string(rank.rank), std::to_string(stream.stream),
                         grouped(stream.kernels), us(static_cast<double>(stream.communication_ns)),
                         us(static_cast<double>(stream.hidden_ns)),
                         percent(static_cast<double>(stream.hidden_ns),
                                 static_cast<double>(stream.communication_ns))});
    out_ += table.render(2);
    if (rows > 2 * k_most_ranks)
      out_ += "  --format json has all.\n";
  }

  void stragglers() {
    const Stragglers& found = timeline_.stragglers;
    if (found.skew.collectives == 0)
      return;
    section("Who comes late");
    out_ += paragraph(
        "  ",
        fmt::format("Start skew of {} collectives ({} seen on all of their ranks, {} on one only): "
                    "median {}, 99% within {}, largest {}.",
                    grouped(found.skew.collectives), grouped(found.skew.complete),
                    grouped(found.skew.single), format_us(*found.skew.median),
                    format_us(*found.skew.p99), format_us(*found.skew.largest)),
        2);
    std::vector<const Straggler*> shown;
    for (const Straggler& rank : found.ranks)
      shown.push_back(&rank);
    std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) {
      return a->delay.value_ns > b->delay.value_ns;
    });
    if (shown.size() > k_most_rows)
      shown.resize(k_most_rows);
    base::TextTable table({{"rank"},
                           {"lateness"},
                           {"95%, us"},
                           {"score"},
                           {"last in"},
                           {found.per_step ? "delay per step" : "delay per coll."},
                           {"95%, us"}});
    for (const Straggler* rank : shown)
      table.add_row({std::to_string(rank->rank), rank->lateness ? format_us(*rank->lateness) : "-",
                     range_us(rank->lateness_interval),
                     rank->score ? fmt::format("{:.1f}", *rank->score) : "-",
                     grouped(rank->times_last), rank->times_last > 0 ? format_us(rank->delay) : "-",
                     range_us(rank->delay_interval)});
    out_ += table.render(2);
    if (shown.size() < found.ranks.size())
      out_ += fmt::format("  The {} worst of {} ranks; --format json has all.\n", shown.size(),
                          found.ranks.size());
  }

  void slowdown() {
    if (timeline_.slowdowns.empty())
      return;
    section("Slowdown by company");
    for (bool communication : {false, true})
      if (SlowdownSum sum = sum_of(timeline_.slowdowns, communication); sum.ratio())
        out_ += paragraph(
            "  ",
            fmt::format("{} takes {:.3f} times as long as alone ({} that ran both ways often "
                        "enough).",
                        communication ? "Communication beside computation"
                                      : "Computation beside communication",
                        *sum.ratio(), count_of(sum.kinds, "kind of kernel", "kinds of kernels")),
            2);
    using Align = base::TextTable::Align;
    base::TextTable table({{"kernel", Align::left},
                           {"what", Align::left},
                           {"cell"},
                           {"overlapped"},
                           {"alone"},
                           {"ratio"},
                           {"95%"}});
    std::vector<Slowdown> shown = timeline_.slowdowns; // first what has a ratio
    std::stable_partition(shown.begin(), shown.end(),
                          [](const Slowdown& slowdown) { return slowdown.ratio.has_value(); });
    shown.resize(std::min(shown.size(), k_most_rows));
    for (const Slowdown& slowdown : shown) {
      table.add_row({shortened(text_of(timeline_, slowdown.kind.name), 36),
                     slowdown.kind.communication ? "comm" : "compute",
                     slowdown.kind.cell < 0 ? "-" : std::to_string(slowdown.kind.cell),
                     grouped(slowdown.overlapped), grouped(slowdown.alone),
                     slowdown.ratio ? fmt::format("{:.3f}", *slowdown.ratio) : "too few",
                     slowdown.interval ? fmt::format("[{:.3f}, {:.3f}]", slowdown.interval->low,
                                                     slowdown.interval->high)
                                       : ""});
    }
    out_ += table.render(2);
  }

  void choices() {
    if (timeline_.choices.empty())
      return;
    section("What NCCL chose, us per operation");
    using Align = base::TextTable::Align;
    base::TextTable table({{"function", Align::left},
                           {"algorithm", Align::left},
                           {"protocol", Align::left},
                           {"channels"},
                           {"operations"},
                           {"median"},
                           {"mean"},
                           {"of it wait"},
                           {"all, ms"}});
    for (const auto& [choice, time] : timeline_.choices) {
      auto timed = static_cast<double>(std::max<std::uint64_t>(1, time.timed));
      bool known = time.timed > 0;
      table.add_row(
          {shortened(text_of(timeline_, choice.function), 16),
           shortened(text_of(timeline_, choice.algorithm), 14),
           shortened(text_of(timeline_, choice.protocol), 8), std::to_string(choice.channels),
           grouped(time.operations), known ? us(median(time.lengths_ns.values())) : "-",
           known ? us(static_cast<double>(time.length_ns) / timed) : "-",
           known ? us(static_cast<double>(time.wait_ns) / timed) : "-",
           known ? fmt::format("{:.3f}", static_cast<double>(time.length_ns) / 1e6) : "-"});
    }
    out_ += table.render(2);
  }

  void gaps() {
    std::int64_t sum = 0;
    for (const Gaps::Sum& cause : timeline_.gaps.causes)
      sum += cause.length_ns;
    if (sum == 0)
      return;
    section("Why streams stood still");
    using Align = base::TextTable::Align;
    base::TextTable table({{"cause", Align::left}, {"gaps"}, {"ms"}, {"share"}});
    for (auto [cause, words] : {std::pair{GapCause::launch_late, "the host launched late"},
                                {GapCause::event, "waited for an event"},
                                {GapCause::other, "other"},
                                {GapCause::unknown, "nobody wrote down the launch"}})
      if (const Gaps::Sum& gaps = timeline_.gaps.of(cause); gaps.count > 0)
        table.add_row({words, grouped(gaps.count),
                       fmt::format("{:.3f}", static_cast<double>(gaps.length_ns) / 1e6),
                       percent(static_cast<double>(gaps.length_ns), static_cast<double>(sum))});
    out_ += table.render(2);
  }

  const Timeline& timeline_;
  const TimelineHeading& heading_;
  std::string out_;
};

} // namespace

std::string render_timeline(const Timeline& timeline, const TimelineHeading& heading) {
  return Writer(timeline, heading).write();
}

} // namespace ncclprobe::analysis
