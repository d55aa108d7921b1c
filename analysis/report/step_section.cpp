// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/step_section.h"

#include "analysis/report/break_even_section.h"
#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/input_copy_section.h"
#include "analysis/report/label_words.h"
#include "analysis/report/result_charts.h"
#include "analysis/report/result_section.h"
#include "analysis/report/step_charts.h"
#include "analysis/report/step_tables.h"
#include "analysis/report/step_text.h"
#include "base/units.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

using steps::Overlap;
using steps::Scaling;
using steps::ScalingPoint;
using steps::StepResult;

constexpr std::size_t k_most_buckets = 24; // JSON and the timeline have all

Section scaling_section(const Scaling& scaling) {
  const ScalingPoint& base = scaling.points.front();
  const int most = scaling.points.back().ranks;
  Section section{"scaling",
                  fmt::format("Why {} ranks are not {:.3g} times as fast: {} scaling from {}, in "
                              "percent of the step time",
                              most, static_cast<double>(most) / base.ranks,
                              model::to_string(scaling.kind),
                              count_of(static_cast<std::size_t>(base.ranks), "rank", "ranks")),
                  {View{points_table(scaling)}},
                  2};
  section.charts = scaling_charts(scaling);
  for (const ScalingPoint& point : scaling.points) {
    if (&point == &base)
      continue;
    section.blocks.push_back(Text{"  -", steps::verdict_sentence(point) + ".", 4});
    if (!point.account.slowdown_known)
      section.blocks.push_back(
          Text{"",
               "other: includes computing slowed by communication (not measured "
               "without communication)",
               4});
    for (const std::string& remark : point.remarks)
      section.blocks.push_back(Text{"", remark, 4});
  }
  return section;
}

Section bucket_section(const StepResult& one) {
  View first{.table = buckets_table(one), .indent = 4};
  const std::size_t count = one.buckets.size();
  if (count > k_most_buckets) {
    first.rows.emplace();
    for (std::size_t i = 0; i < count; ++i)
      if (i < k_most_buckets / 2 || i >= count - k_most_buckets / 2)
        first.rows->push_back(i);
  }
  Section section{
      "buckets",
      fmt::format("Timeline of a step at {} (medians)", count_of(rank_count(one), "rank", "ranks")),
      {std::move(first)},
      2};
  section.charts.push_back(buckets_chart(one));
  if (count > k_most_buckets)
    section.blocks.push_back(
        Text{"", fmt::format("{} more in the middle (JSON has them)", count - k_most_buckets), 4});
  if (std::ranges::any_of(one.buckets, [](const auto& bucket) { return !bucket.wait_known; }))
    section.blocks.push_back(Text{"", "* its wait is unknown: all of it counts as transfer.", 4});
  return section;
}

Section by_kernels_section(const std::vector<const StepResult*>& steps_of_lead) {
  std::vector<const StepResult*> traced;
  std::ranges::copy_if(steps_of_lead, std::back_inserter(traced), [](const StepResult* one) {
    return one->by_kernels && one->by_kernels->communication_ns > 0;
  });
  Section section{"by_kernels"};
  if (traced.empty())
    return section;
  section.hang = 2;
  section.title = fmt::format("Communication by kernels, as --timeline --trial {} shows it",
                              traced.back()->by_kernels->trial);
  using Row = const StepResult*;
  TableOf<Row> table(std::move(traced));
  table.show("ranks", [](Row one) { return rank_count(*one); });
  table.show("parts", [](Row one) { return parts_text(one->step.parts); }).left();
  for (auto [title, member] : {std::pair("step ms", &steps::ByKernels::step_ns),
                               std::pair("compute", &steps::ByKernels::compute_ns),
                               std::pair("comm", &steps::ByKernels::communication_ns),
                               std::pair("hidden", &steps::ByKernels::hidden_ns),
                               std::pair("exposed", &steps::ByKernels::exposed_ns)})
    table.show(title, [member = member](Row one) { return (*one->by_kernels).*member / 1e6; },
               {Unit::milliseconds});
  table.show("overlap %",
             [](Row one) { return one->by_kernels->hidden_ns / one->by_kernels->communication_ns; },
             {Unit::share});
  section.blocks.push_back(View{table.table()});
  return section;
}

void add_step_notes(std::vector<Block>& blocks, const std::vector<const StepResult*>& rows) {
  std::vector<const SettingResult*> pooled;
  std::optional<std::uint64_t> memory_bytes;
  std::vector<std::string> refusals;
  auto which = [](const StepResult* row) {
    return fmt::format("{}, {}", count_of(rank_count(*row), "rank", "ranks"),
                       model::to_string(row->step.parts));
  };
  for (const StepResult* row : rows) {
    pooled.push_back(row->pooled);
    memory_bytes = std::max(memory_bytes, row->most_memory_bytes);
    for (const std::string& refusal : row->refusals)
      refusals.push_back(which(row) + ", " + refusal);
  }
  add_data_notes(blocks, pooled);
  if (memory_bytes)
    blocks.push_back(Text{"",
                          fmt::format("memory used on a device by all processes: up to {:.2f} GiB",
                                      static_cast<double>(*memory_bytes) / (1 << 30)),
                          2});
  for (const StepResult* row : rows)
    if (std::size_t alone = row->unmatched_messages(); alone > 0)
      blocks.push_back(
          Text{"",
               fmt::format("{}: {} per step without a known other side count as transfer",
                           which(row), count_of(alone, "send or receive", "sends and receives")),
               2});
  if (!refusals.empty())
    blocks.push_back(Text{"",
                          fmt::format("marks rejected in {}; first: {}",
                                      count_of(refusals.size(), "cell", "cells"), refusals.front()),
                          2});
}

// All steps of one kind, with any ranks, parts and settings.
class KindSections {
public:
  KindSections(const RunFigures& run, const StepTableData& steps, const Report& data,
               const StepResult& first)
      : run_(run), all_(steps.rows) {
    for (const auto& [key, value] : data.data)
      if (key == "steps")
        steps_table_ = std::get<TablePtr>(value.held());
      else if (key == "overlap")
        overlap_table_ = std::get<TablePtr>(value.held());
      else if (key == "break_even")
        break_even_table_ = std::get<TablePtr>(value.held());
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (same_kind(first, step(i)))
        kind_.push_back(i);
    auto chosen = std::ranges::find_if(kind_, [&](std::size_t i) { return step(i).is_default; });
    lead_ = &step(chosen == kind_.end() ? kind_.front() : *chosen);
    std::ranges::copy_if(kind_, std::back_inserter(of_lead_),
                         [&](std::size_t i) { return step(i).setting == lead_->setting; });
    sort(of_lead_);
  }

  void add_to(Report& report, const std::vector<Overlap>& overlaps) const {
    auto add = [&](Section section) { report.sections.push_back(std::move(section)); };
    std::vector<const StepResult*> rows;
    std::vector<std::size_t> measured;
    const StepResult* widest = nullptr;
    const StepResult* whole = nullptr;
    for (std::size_t i : of_lead_) {
      const StepResult& one = step(i);
      rows.push_back(&one);
      if (!one.processes.empty())
        measured.push_back(i);
      if (one.step.parts == model::StepParts::all)
        whole = &one;
      if (one.step.parts == model::StepParts::all && !one.processes.empty() && !one.buckets.empty())
        widest = &one;
    }
    add(parts_section(rows, measured, whole));
    add(by_kernels_section(rows));
    if (widest)
      add(bucket_section(*widest));
    add(overlap_section(overlaps));
    add(break_even_section(run_.break_evens, break_even_table_, *lead_));
    for (const Scaling& scaling : run_.scalings)
      if (const StepResult& base = *scaling.points.front().result;
          same_kind(base, *lead_) && base.setting == lead_->setting)
        add(scaling_section(scaling));
    add(settings_section());
    add(channels_section());
  }

private:
  const StepResult& step(std::size_t i) const { return *all_[i].step; }

  void sort(std::vector<std::size_t>& rows) const {
    std::ranges::stable_sort(rows, {}, [&](std::size_t i) {
      return std::pair(rank_count(step(i)), step(i).step.parts);
    });
  }

  Section parts_section(const std::vector<const StepResult*>& rows,
                        const std::vector<std::size_t>& measured, const StepResult* whole) const {
    Section section{"steps",
                    fmt::format("training step: {}, {}{}", describe_step(*lead_),
                                lead_->is_default ? "default settings"
                                                  : lead_->setting + " (the default has no result)",
                                synthetic_mark(run_.run))};
    View view{.table = steps_table_, .rows = measured};
    view.columns = {"ranks", "parts", "step_ms", "+-%",  "forward",  "backward", "optim",
                    "prep",  "comm",  "cov.",    "wait", "transfer", "idle"};
    if (lead_->step.copies_input())
      view.columns.insert(view.columns.end() - 1, "copy");
    if (!measured.empty()) {
      section.blocks.push_back(std::move(view));
      section.charts.push_back(parts_chart(rows));
    }
    add_step_notes(section.blocks, rows);
    if (whole && run_.run.header.backend == "nvidia")
      if (auto products = steps::product_alignment(run_.run, *whole))
        section.blocks.push_back(Text{"", steps::in_words(*products), 2});
    return section;
  }

  Section overlap_section(const std::vector<Overlap>& overlaps) const {
    Section section{"overlap"};
    View view{.table = overlap_table_, .rows = std::vector<std::size_t>()};
    bool is_vague = false;
    for (std::size_t i = 0; i < overlaps.size(); ++i) {
      const Overlap& one = overlaps[i];
      if (!same_kind(*one.all, *lead_) || one.all->setting != lead_->setting)
        continue;
      view.rows->push_back(i);
      is_vague =
          is_vague || (one.efficiency && one.efficiency->interval && !telling(*one.efficiency));
    }
    if (view.rows->empty())
      return section;
    section.title = "Computation and communication together, and each alone";
    section.hang = 2;
    section.blocks.push_back(std::move(view));
    if (is_vague)
      section.blocks.push_back(Text{"", "no intervals: 2 processes are too few (--repeat)", 2});
    return section;
  }

  Section settings_section() const {
    std::vector<std::size_t> defaults, compared;
    for (std::size_t i : kind_) {
      if (step(i).is_default && step(i).step.parts == model::StepParts::all)
        defaults.push_back(i);
      if (all_[i].against || (step(i).data == DataState::wrong && !step(i).is_default))
        compared.push_back(i);
    }
    if (compared.empty())
      return {"step_settings"};
    std::vector<StepComparison> comparisons;
    for (std::size_t i : by_setting(compared))
      if (all_[i].against)
        comparisons.emplace_back(step_scope(step(i).step), all_[i].against);
    defaults.insert(defaults.end(), compared.begin(), compared.end());
    return {.key = "step_settings",
            .title = "Settings against the default, by step time (host's clock)",
            .blocks = {View{
                .table = steps_table_,
                .rows = by_setting(std::move(defaults)),
                .columns = {"setting", "ranks", "parts", "host_step_ms", "uncovered ms", "speed",
                            fmt::format("{:.0f}% interval", 100 * k_confidence), "verdict"},
                .indent = 4}},
            .hang = 2,
            .charts = {step_comparison_chart("Speed against the default: training steps",
                                             std::move(comparisons), run_.verdicts)}};
  }

  Section channels_section() const {
    std::vector<std::size_t> rows;
    std::ranges::copy_if(kind_, std::back_inserter(rows), [&](std::size_t i) {
      return all_[i].channels && step(i).step.parts == model::StepParts::all &&
             !step(i).processes.empty();
    });
    if (rows.empty())
      return {"channels"};
    return {"channels",
            "Channels (each takes a multiprocessor from computing)",
            {View{.table = steps_table_,
                  .rows = by_setting(std::move(rows)),
                  .columns = {"setting", "ranks", "channels", "step_ms", "backward", "uncovered ms",
                              "compute slower x"},
                  .indent = 4}},
            2};
  }

  // The default first.
  std::vector<std::size_t> by_setting(std::vector<std::size_t> rows) const {
    std::ranges::stable_sort(rows, {}, [&](std::size_t i) {
      const StepResult& one = step(i);
      return std::tuple(!one.is_default, std::string_view(one.setting), rank_count(one),
                        one.step.parts);
    });
    return rows;
  }

  const RunFigures& run_;
  const std::vector<StepRow>& all_;
  TablePtr steps_table_, overlap_table_, break_even_table_;
  std::vector<std::size_t> kind_, of_lead_;
  const StepResult* lead_ = nullptr;
};

Section step_reading_section() {
  constexpr int k_hang = 18;
  return {
      .key = "reading_steps",
      .title = "How to read steps (ms, mean over ranks; events on the devices' streams)",
      .blocks =
          {Text{
               "  comm, cov.",
               "time in which anything communicates; covered: the part during which computing runs "
               "(pauses between its kernels included).",
               k_hang},
           Text{"  wait, transfer",
                "the two parts of uncovered communication. wait: how much longer a rank's "
                "communication takes than the fastest rank's; transfer: the rest. Only transfer "
                "depends on NCCL.",
                k_hang},
           Text{"  hidden, exposed",
                "communication while a kernel computes, and while none does (as in --timeline). "
                "Known only for traced steps (--trace kernels).",
                k_hang},
           Text{"  comp., comm.", "the same step without communication, and without computing.",
                k_hang},
           Text{"  gain %",
                "time saved by running both at once, in percent of the largest possible saving. At "
                "100 the step takes as long as the longer of the two; at 0, as long as one after "
                "the other.",
                k_hang},
           Text{"  lost",
                "100 - efficiency, in percent of the step time: the sum of the columns after it. "
                "Below 0: the step loses less to it than its base.",
                k_hang}},
      .part = Section::Part::method};
}

} // namespace

Report step_report(const RunFigures& figures) {
  if (figures.steps.empty())
    return {};
  const auto found = std::make_shared<const StepTableData>(figures);
  const bool synthetic = is_synthetic(figures.run);
  Report report{.data = {{"steps", steps_table(found->rows, synthetic)},
                         {"overlap", overlap_table(found->overlaps, synthetic)},
                         {"scaling", scaling_table(figures.scalings, synthetic)},
                         {"break_even", break_even_table(figures.break_evens, synthetic)}},
                .figures = {found}};
  std::vector<const StepResult*> left;
  for (const StepResult& one : figures.steps)
    left.push_back(&one);
  while (!left.empty()) {
    const StepResult& first = *left.front();
    KindSections(figures, *found, report, first).add_to(report, found->overlaps);
    std::erase_if(left, [&](const StepResult* one) { return same_kind(first, *one); });
  }
  append(report, input_copy_report(figures));
  report.sections.push_back(step_reading_section());
  return report;
}

std::vector<std::string> step_sentences(const RunFigures& figures) {
  std::vector<const StepResult*> left;
  for (const StepResult& one : figures.steps)
    if (one.is_default && one.step.parts == model::StepParts::all && !one.processes.empty() &&
        one.data != DataState::wrong)
      left.push_back(&one);
  std::vector<std::string> sentences;
  while (!left.empty()) {
    const StepResult& first = *left.front();
    const StepResult* widest = &first;
    for (const StepResult* one : left)
      if (same_kind(first, *one) && rank_count(*one) >= rank_count(*widest))
        widest = one;
    std::string text =
        fmt::format("{}: step {} ms at {}", describe_step(first), ms_text(widest->times.step_ns),
                    count_of(rank_count(*widest), "rank", "ranks"));
    for (const Scaling& scaling : figures.scalings)
      if (scaling.points.back().result == widest)
        text = fmt::format("{}; {} scaling {}", text, model::to_string(scaling.kind),
                           steps::verdict_sentence(scaling.points.back()));
    for (const steps::BreakEven& one : figures.break_evens)
      if (one.result == widest)
        text += "; " + steps::in_words(one);
    if (const auto& kernels = widest->by_kernels)
      text += fmt::format("; by kernels {} of communication is exposed",
                          base::format_duration(kernels->exposed_ns));
    sentences.push_back(std::move(text));
    std::erase_if(left, [&](const StepResult* one) { return same_kind(first, *one); });
  }
  for (std::string& one : input_copy_sentences(figures.steps))
    sentences.push_back(std::move(one));
  return sentences;
}

} // namespace ncclprobe::analysis
