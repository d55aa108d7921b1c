// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/step_section.h"

#include "analysis/proof/proof.h"
#include "analysis/report/break_even_section.h"
#include "analysis/report/by_kernels_section.h"
#include "analysis/report/heading.h"
#include "analysis/report/input_copy_section.h"
#include "analysis/report/label_words.h"
#include "analysis/report/result_tables.h"
#include "analysis/report/step_text.h"
#include "analysis/steps/overlap.h"
#include "analysis/steps/product_alignment.h"
#include "analysis/steps/scaling.h"
#include "base/text_table.h"
#include "base/units.h"
#include "base/wrapped_row.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using steps::same_kind;
using steps::StepResult;
using Steps = std::vector<const StepResult*>;

constexpr std::size_t k_most_buckets = 24; // of which the timeline shows all

std::string interval_text(const StepResult& one) {
  if (!one.interval_ns)
    return "-";
  double widest_ns =
      std::max(one.interval_ns->high - one.times.step_ns, one.times.step_ns - one.interval_ns->low);
  return fmt::format("{:.1f}", 100 * widest_ns / one.times.step_ns);
}

// "1.05 [1.03, 1.07]"
std::string estimate_text(const std::optional<Estimate>& estimate, double unit, int digits) {
  if (!estimate)
    return "-";
  auto number = [&](double value) {
    std::string text = fmt::format("{:.{}f}", value * unit, digits);
    return text == "-0.0" ? "0.0" : text;
  };
  std::string text = number(estimate->value);
  if (const Interval* interval = telling(*estimate))
    text += fmt::format(" [{}, {}]", number(interval->low), number(interval->high));
  return text;
}

// Where no input is copied, its column is left out.
bool copies_input(const Steps& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const StepResult* row) { return !row->step.input_copy().empty(); });
}

std::string render_parts(const Steps& rows) {
  const bool copies = copies_input(rows); // one column more, so shorter titles
  std::vector<TextTable::Column> columns{{"ranks"},
                                         {"parts", TextTable::Align::left},
                                         {"step ms"},
                                         {"+-%"},
                                         {copies ? "forw." : "forward"},
                                         {copies ? "back." : "backward"},
                                         {"optim"},
                                         {"prep"},
                                         {"comm"},
                                         {"cov."},
                                         {"wait"},
                                         {copies ? "trans." : "transfer"},
                                         {"idle"}};
  if (copies)
    columns.insert(columns.end() - 1, {"copy"});
  TextTable table(columns);
  for (const StepResult* row : rows) {
    const steps::StepTimes& times = row->times;
    std::vector<std::string> cells{ranks_text(*row), parts_text(row->step.parts),
                                   ms_text(times.step_ns), interval_text(*row)};
    for (double ns : {times.forward_ns, times.backward_ns, times.optimizer_ns, times.prepare_ns,
                      times.communication_ns, times.hidden_ns, times.exposed_wait_ns,
                      times.exposed_transfer_ns, times.idle_ns})
      cells.push_back(ms_text(ns));
    if (copies)
      cells.insert(cells.end() - 1, ms_text(times.exposed_copy_ns));
    table.add_row(std::move(cells));
  }
  return table.render(2);
}

std::string render_step_notes(const Steps& rows) {
  std::vector<const SettingResult*> pooled;
  std::optional<std::uint64_t> memory_bytes;
  std::string out;
  std::vector<std::string> refusals;
  for (const StepResult* row : rows) {
    pooled.push_back(row->pooled);
    if (row->most_memory_bytes)
      memory_bytes = std::max(memory_bytes.value_or(0), *row->most_memory_bytes);
    for (const std::string& refusal : row->refusals)
      refusals.push_back(fmt::format("{} ranks, {}, {}", row->step.ranks.size(),
                                     model::to_string(row->step.parts), printable(refusal)));
  }
  out += data_footnotes(pooled);
  if (memory_bytes)
    out += paragraph("",
                     fmt::format("memory used on a device, by all: up to {:.2f} GiB",
                                 static_cast<double>(*memory_bytes) / (1 << 30)),
                     2);
  for (const StepResult* row : rows)
    if (std::size_t alone = row->unmatched_messages(); alone > 0)
      out += paragraph("",
                       fmt::format("{} ranks, {}: {} of a step without the other side, which count "
                                   "as transfer",
                                   row->step.ranks.size(), model::to_string(row->step.parts),
                                   count_of(alone, "send or receive", "sends and receives")),
                       2);
  if (!refusals.empty())
    out += paragraph("",
                     fmt::format("marks refused in {}; first: {}",
                                 count_of(refusals.size(), "cell", "cells"), refusals.front()),
                     2);
  return out;
}

std::string render_buckets(const StepResult& one) {
  // Stages of a pipeline, groups of tensor parallel ranks.
  const bool by_ranks =
      std::any_of(one.buckets.begin(), one.buckets.end(),
                  [&](const steps::BucketTimes& bucket) { return bucket.ranks != one.step.ranks; });
  std::vector<TextTable::Column> columns{{"communication", TextTable::Align::left},
                                         {"ready ms"},
                                         {"begin ms"},
                                         {"end ms"},
                                         {"transfer ms"}};
  std::vector<int> widths{52};
  if (by_ranks) {
    columns.insert(columns.begin(), {"ranks", TextTable::Align::left});
    widths = {12, 40};
  }
  TextTable table(columns);
  const std::size_t count = one.buckets.size();
  bool guessed = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > k_most_buckets && i == k_most_buckets / 2) {
      i = count - k_most_buckets / 2;
      std::vector<std::string> more{
          fmt::format("... {} more (JSON has them)", count - k_most_buckets)};
      if (by_ranks)
        more.insert(more.begin(), "");
      table.add_row(std::move(more));
    }
    const steps::BucketTimes& bucket = one.buckets[i];
    guessed = guessed || !bucket.wait_known;
    std::vector<std::string> cells{bucket.label, ms_text(bucket.ready_ns), ms_text(bucket.begin_ns),
                                   ms_text(bucket.end_ns),
                                   ms_text(bucket.transfer_ns) + (bucket.wait_known ? "" : " *")};
    if (by_ranks)
      cells.insert(cells.begin(), model::format_ranks(bucket.ranks));
    base::add_wrapped_row(table, std::move(cells), widths);
  }
  std::string out = fmt::format("  Timeline of a step at {} ranks (medians)\n", ranks_text(one));
  out += table.render(4);
  if (guessed)
    out += paragraph("", "* what it waited for is not known: all of it counts as transfer.", 4);
  return out;
}

std::string render_overlap(const std::vector<steps::Overlap>& overlaps) {
  TextTable table({{"ranks"},
                   {"compute ms"},
                   {"comm ms"},
                   {"gain %"},
                   {"compute slower x"},
                   {"comm slower x"}});
  for (const steps::Overlap& one : overlaps)
    table.add_row({ranks_text(*one.all), ms_text(one.compute->times.step_ns),
                   ms_text(one.communication->times.step_ns), estimate_text(one.efficiency, 100, 1),
                   estimate_text(one.compute_slowdown, 1, 3),
                   estimate_text(one.communication_slowdown, 1, 3)});
  std::string out = "  Together, and each alone\n" + table.render(2);
  if (std::any_of(overlaps.begin(), overlaps.end(), [](const steps::Overlap& one) {
        return one.efficiency && one.efficiency->interval && !telling(*one.efficiency);
      }))
    out += paragraph("", "no intervals: 2 processes are too few (--repeat)", 2);
  return out;
}

std::string render_scaling(const steps::Scaling& scaling) {
  LossColumns more{.copy = copies_input({scaling.points.front().result})};
  for (const steps::ScalingPoint& point : scaling.points)
    more.clocks = more.clocks || percent_text(point.account.of(steps::Loss::clocks)) != "0.0";
  std::vector<TextTable::Column> columns{{"ranks"}, {"step ms"}, {"efficiency %"}, {"lost"}};
  // Step times stand above, and what is lost is what the efficiency lacks.
  const bool tight = more.copy && more.clocks;
  if (tight)
    columns = {{"ranks"}, {"efficiency %"}};
  append_loss_columns(columns, more);
  TextTable table(columns);
  std::string notes;
  for (const steps::ScalingPoint& point : scaling.points) {
    std::vector<std::string> cells{
        std::to_string(point.ranks), ms_text(point.step_ns),
        &point == &scaling.points.front() ? "base" : estimate_text(point.efficiency, 100, 1),
        percent_text(1 - point.efficiency.value)};
    if (tight)
      cells = {cells[0], cells[2]};
    append_loss_cells(cells, point.account, more);
    table.add_row(std::move(cells));
    if (&point == &scaling.points.front())
      continue;
    notes += paragraph("  -", steps::verdict_sentence(point) + ".", 4);
    if (!point.account.slowdown_known)
      notes += paragraph("",
                         "other: computing that changed by itself or was slowed down (not measured "
                         "without communication)",
                         4);
    for (const std::string& remark : point.remarks)
      notes += paragraph("", remark, 4);
  }
  const int base = scaling.points.front().ranks;
  const int most = scaling.points.back().ranks;
  return paragraph("",
                   fmt::format("Why {} ranks are not {:.3g} times as fast: {} scaling from {}, "
                               "in percent of the step time",
                               most, static_cast<double>(most) / base,
                               model::to_string(scaling.kind),
                               count_of(static_cast<std::size_t>(base), "rank", "ranks")),
                   2) +
         table.render(2) + notes;
}

std::string render_channels(const model::Run& run, const std::vector<StepResult>& all,
                            const StepResult& kind) {
  TextTable table({{"setting", TextTable::Align::left},
                   {"ranks"},
                   {"channels"},
                   {"step ms"},
                   {"backward ms"},
                   {"uncovered ms"},
                   {"compute slower x"}});
  const auto overlaps = steps::overlaps(all);
  bool any = false;
  for (const ChannelsOfStep& one : channels_of_steps(run, all)) {
    if (!same_kind(*one.result, kind) || one.result->step.parts != workload::StepParts::all ||
        one.result->processes.empty())
      continue;
    auto overlap = std::find_if(overlaps.begin(), overlaps.end(), [&](const steps::Overlap& other) {
      return other.all == one.result;
    });
    any = true;
    table.add_row(
        {wrap(printable(one.result->setting), 34).front(), ranks_text(*one.result),
         std::to_string(one.channels), ms_text(one.result->times.step_ns),
         ms_text(one.result->times.backward_ns), ms_text(one.result->times.exposed_ns()),
         overlap == overlaps.end() ? "-" : estimate_text(overlap->compute_slowdown, 1, 3)});
  }
  return any ? "  Channels (each takes a multiprocessor from computing)\n" + table.render(4) : "";
}

std::string render_settings(const Steps& rows, const Verdicts& verdicts) {
  TextTable table({{"setting", TextTable::Align::left},
                   {"ranks"},
                   {"parts", TextTable::Align::left},
                   {"step ms"},
                   {"uncovered ms"},
                   {"speed"},
                   {fmt::format("{:.0f}% interval", 100 * k_confidence)},
                   {"verdict", TextTable::Align::left}});
  bool any = false;
  Steps sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(), [](const StepResult* a, const StepResult* b) {
    return std::tuple(a->setting, a->step.ranks.size(), a->step.parts) <
           std::tuple(b->setting, b->step.ranks.size(), b->step.parts);
  });
  auto uncovered = [](const StepResult& row) {
    return row.step.parts == workload::StepParts::all && !row.processes.empty()
               ? ms_text(row.times.exposed_ns())
               : "-";
  };
  for (const StepResult* row : sorted)
    if (row->is_default && row->step.parts == workload::StepParts::all)
      table.add_row({"default", ranks_text(*row), parts_text(row->step.parts),
                     ms_text(row->pooled->time_ns), uncovered(*row)});
  for (const StepResult* row : sorted) {
    const Comparison* one = verdicts.of(*row->pooled);
    const bool wrong = row->data == DataState::wrong;
    if (!one && !wrong)
      continue;
    any = true;
    auto name = wrap(printable(row->setting), 30);
    table.add_row({name.front(), ranks_text(*row), parts_text(row->step.parts),
                   ms_text(row->pooled->time_ns), uncovered(*row),
                   wrong ? "-" : fmt::format("{:.3f}x", one->speed_ratio),
                   !wrong && one->interval
                       ? fmt::format("{:.3f}-{:.3f}", one->interval->low, one->interval->high)
                       : "-",
                   wrong ? "WRONG DATA"
                         : fmt::format("{}{}",
                                       one->verdict == Verdict::no_difference ? "same"
                                       : one->verdict == Verdict::not_decided
                                           ? "open"
                                           : std::string(model::to_string(one->verdict)),
                                       one->throttled ? " *" : "")});
    for (std::size_t i = 1; i < name.size(); ++i)
      table.add_row({"  " + name[i]});
  }
  return any ? "  Settings against the default, by step time (host's clock)\n" + table.render(4)
             : "";
}

// All cells of one kind, whatever their ranks, parts and settings.
std::string render_kind(const model::Run& run, const std::vector<StepResult>& all,
                        const Steps& kind, const Verdicts& verdicts) {
  auto chosen =
      std::find_if(kind.begin(), kind.end(), [](const StepResult* one) { return one->is_default; });
  const StepResult& lead = chosen == kind.end() ? *kind.front() : **chosen;
  std::vector<StepResult> of_lead;
  for (const StepResult* one : kind)
    if (one->setting == lead.setting)
      of_lead.push_back(*one);
  std::stable_sort(of_lead.begin(), of_lead.end(), [](const StepResult& a, const StepResult& b) {
    return std::pair(a.step.ranks.size(), a.step.parts) <
           std::pair(b.step.ranks.size(), b.step.parts);
  });
  Steps rows, measured;
  for (const StepResult& one : of_lead) {
    rows.push_back(&one);
    if (!one.processes.empty())
      measured.push_back(&one);
  }
  std::string out = paragraph(
      "",
      fmt::format("step of training: {}, {}{}", describe_step(lead),
                  lead.is_default ? "default settings"
                                  : printable(lead.setting) + " (the default has no result)",
                  synthetic_mark(run)),
      0);
  if (!measured.empty())
    out += render_parts(measured);
  out += render_step_notes(rows);
  auto whole = std::find_if(rows.rbegin(), rows.rend(), [](const StepResult* one) {
    return one->step.parts == workload::StepParts::all;
  });
  if (whole != rows.rend() && run.header.backend == "nvidia")
    if (auto products = steps::product_alignment(run, **whole))
      out += paragraph("", steps::in_words(*products), 2);
  auto widest = std::find_if(measured.rbegin(), measured.rend(), [](const StepResult* one) {
    return one->step.parts == workload::StepParts::all && !one->buckets.empty();
  });
  out += render_by_kernels(rows);
  if (widest != measured.rend())
    out += "\n" + render_buckets(**widest);
  if (auto overlaps = steps::overlaps(of_lead); !overlaps.empty())
    out += "\n" + render_overlap(overlaps);
  if (std::string break_even = render_break_even(of_lead); !break_even.empty())
    out += "\n" + break_even;
  for (const steps::Scaling& scaling : steps::scalings(of_lead))
    out += "\n" + render_scaling(scaling);
  if (std::string settings = render_settings(kind, verdicts); !settings.empty())
    out += "\n" + settings;
  if (std::string channels = render_channels(run, all, lead); !channels.empty())
    out += "\n" + channels;
  return out;
}

} // namespace

std::vector<ChannelsOfStep> channels_of_steps(const model::Run& run,
                                              const std::vector<StepResult>& results) {
  std::vector<ChannelsOfStep> out;
  for (const SettingProof& proof : setting_proofs(run))
    for (const CellProof& cell : proof.cells) {
      int channels = 0;
      for (const auto& [rank, uses] : cell.by_rank)
        for (const Use& use : uses)
          channels = std::max(channels, use.channels);
      if (channels == 0)
        continue;
      for (const StepResult& result : results)
        if (result.label == cell.label && result.setting == proof.setting)
          out.push_back({&result, channels});
    }
  return out;
}

std::string render_step_summary(const RunSummary& run, const std::vector<SettingResult>& results,
                                const steps::TracedCells& traced) {
  const std::vector<StepResult> all = steps::step_results(run, results, traced);
  Steps left;
  for (const StepResult& one : all)
    if (one.is_default && one.step.parts == workload::StepParts::all && !one.processes.empty() &&
        one.data != DataState::wrong)
      left.push_back(&one);
  const std::vector<steps::Scaling> scalings = steps::scalings(all);
  const std::vector<steps::BreakEven> break_evens = steps::break_evens(all);
  std::string out;
  while (!left.empty()) {
    const StepResult& first = *left.front();
    const StepResult* widest = &first;
    for (const StepResult* one : left)
      if (same_kind(first, *one) && one->step.ranks.size() >= widest->step.ranks.size())
        widest = one;
    std::string text =
        fmt::format("{}: step {} ms at {}", describe_step(first), ms_text(widest->times.step_ns),
                    count_of(widest->step.ranks.size(), "rank", "ranks"));
    for (const steps::Scaling& scaling : scalings)
      if (scaling.points.back().result == widest)
        text = fmt::format("{}; {} scaling {}", text, model::to_string(scaling.kind),
                           steps::verdict_sentence(scaling.points.back()));
    for (const steps::BreakEven& one : break_evens)
      if (one.result == widest)
        text += "; " + steps::in_words(one);
    if (const auto& kernels = widest->by_kernels)
      text += fmt::format("; by kernels {} of communication is exposed",
                          base::format_duration(kernels->exposed_ns));
    out += paragraph("  ", text + synthetic_mark(run), 2);
    std::erase_if(left, [&](const StepResult* one) { return same_kind(first, *one); });
  }
  for (const std::string& one : input_copy_sentences(all))
    out += paragraph("  ", one + synthetic_mark(run), 2);
  return out;
}

std::string render_steps(const RunSummary& run, const std::vector<SettingResult>& results,
                         const Verdicts& verdicts, const steps::TracedCells& traced) {
  const std::vector<StepResult> all = steps::step_results(run, results, traced);
  Steps left;
  for (const StepResult& one : all)
    left.push_back(&one);
  std::string out;
  while (!left.empty()) {
    const StepResult& first = *left.front();
    Steps kind;
    for (const StepResult* one : left)
      if (same_kind(first, *one))
        kind.push_back(one);
    out += "\n" + render_kind(run, all, kind, verdicts);
    std::erase_if(left, [&](const StepResult* one) { return same_kind(first, *one); });
  }
  if (out.empty())
    return "";
  out += render_input_copies(run, all);
  constexpr int k_hang = 18;
  out += "\nHow to read steps (ms, mean over ranks; events on the devices' streams)\n";
  out +=
      paragraph("  comm, cov.",
                "time in which anything communicates; covered: the part of it in which a stretch "
                "of computing runs. A stretch includes the pauses between its kernels.",
                k_hang);
  out +=
      paragraph("  wait, transfer",
                "uncovered communication, with no such stretch beside it. wait: what a rank takes "
                "longer than the fastest; transfer: the rest. Only transfer depends on NCCL.",
                k_hang);
  out += paragraph("  hidden, exposed",
                   "communication while a kernel computes, and while none does (as in --timeline). "
                   "Known only of traced steps (--trace kernels).",
                   k_hang);
  out += paragraph("  comp., comm.", "the same step without communication, and without computing.",
                   k_hang);
  out += paragraph("  gain %",
                   "what running both at once gains, in percent of what it could. At 100 the step "
                   "takes as long as the longer of the two, at 0 as long as one after the other.",
                   k_hang);
  out +=
      paragraph("  lost",
                "100 - efficiency, in percent of the step time. The terms after it add up to it. "
                "Below 0: the step has less of that than its base.",
                k_hang);
  return out;
}

} // namespace ncclprobe::analysis
