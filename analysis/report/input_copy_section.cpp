// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/input_copy_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/step_tables.h"
#include "analysis/report/step_text.h"
#include "analysis/steps/input_copies.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis {
namespace {

using steps::CopyComparison;
using steps::CopyEffect;
using steps::Slowed;

std::string verdict_text(Verdict verdict) {
  return verdict == Verdict::no_difference ? "same"
         : verdict == Verdict::not_decided ? "open"
                                           : std::string(model::to_string(verdict));
}

std::string copy_text(const model::StepLabel& step) {
  return input_copy_text(step.options.input_copy);
}

std::string against_text(const CopyComparison& one) {
  return copy_text(one.before->step);
}

// For one kind of step, with any copy and ranks.
bool same_but_copy(const CopyComparison& a, const CopyComparison& b) {
  auto rest = [](const CopyComparison& one) {
    model::StepLabel label = one.after->step;
    label.ranks.clear();
    label.options.input_copy = {};
    return label;
  };
  return rest(a) == rest(b) && a.after->setting == b.after->setting;
}

TablePtr effects_table(const std::vector<const CopyComparison*>& comparisons) {
  struct Row {
    const CopyComparison* comparison;
    const CopyEffect* effect;
  };
  std::vector<Row> rows;
  for (const CopyComparison* one : comparisons)
    for (const CopyEffect& effect : one->effects)
      rows.push_back({one, &effect});
  TableOf<Row> table(std::move(rows));
  table.show("ranks", [](const Row& row) { return rank_count(*row.comparison->after); }).once();
  table
      .show("copy",
            [](const Row& row) {
              return !row.comparison->before->step.copies_input()
                         ? copy_text(row.comparison->after->step)
                         : "pageable vs pinned";
            })
      .left()
      .once();
  table.show("what", [](const Row& row) { return row.effect->what; }).left();
  table.show("ms", [](const Row& row) { return row.effect->before_ns / 1e6; },
             {Unit::milliseconds});
  table.show("then", [](const Row& row) { return row.effect->after_ns / 1e6; },
             {Unit::milliseconds});
  table.show("times", [](const Row& row) { return row.effect->ratio; }, {Unit::fixed, 3});
  table.show(fmt::format("{:.0f}% interval", 100 * k_confidence),
             [](const Row& row) {
               const auto& test = row.effect->test;
               return test ? Value(List{test->interval.low, test->interval.high}) : Value();
             },
             {Unit::fixed, 3});
  table.show("verdict", [](const Row& row) { return verdict_text(row.effect->verdict); }).left();
  return table.table();
}

TablePtr accounts_table(const std::vector<const CopyComparison*>& comparisons) {
  using Row = const CopyComparison*;
  std::vector<Row> rows;
  std::ranges::copy_if(comparisons, std::back_inserter(rows),
                       [](Row one) { return one->account && !one->before->step.copies_input(); });
  TableOf<Row> table(std::move(rows));
  table.show("ranks", [](Row one) { return rank_count(*one->after); });
  table.show("copy", [](Row one) { return copy_text(one->after->step); }).left();
  table.show("alone", [](Row one) { return one->alone_gb_per_s; }, {Unit::fixed});
  table.show("with", [](Row one) { return one->in_step_gb_per_s; }, {Unit::fixed});
  table.show("lost", [](Row one) { return one->account->sum(); }, {Unit::share}).dispensable(1);
  show_losses(table, {.copy = true}, [](Row one) { return &*one->account; });
  return table.table();
}

TablePtr effects_value(const CopyComparison& comparison) {
  using Row = const CopyEffect&;
  TableOf<CopyEffect> table(comparison.effects);
  table.add("what", &CopyEffect::what);
  table.add("before_ms", [](Row one) { return six_digits_ms(one.before_ns); });
  table.add("after_ms", [](Row one) { return six_digits_ms(one.after_ns); });
  table.add("ratio", [](Row one) { return six_digits(one.ratio); });
  table.add("interval",
            [](Row one) { return one.test ? interval_value(one.test->interval) : Value(); });
  table.add("adjusted_p", [](Row one) { return six_digits(one.adjusted_p); });
  table.add("detectable_ratio", [](Row one) { return six_digits(one.detectable); });
  table.add("verdict", &CopyEffect::verdict);
  add_why(table, "why_not_decided", &CopyEffect::why_not_decided);
  return table.table();
}

Value copy_account(const CopyComparison& comparison) {
  if (!comparison.account)
    return nullptr;
  Object terms;
  for (const auto& [loss, name] : enum_names(steps::Loss{}))
    terms.emplace_back(name, comparison.account->of(loss));
  terms.emplace_back("sum", comparison.account->sum());
  return terms;
}

TablePtr copies_table(const steps::CopyComparisons& found, bool synthetic) {
  using Row = const CopyComparison&;
  TableOf<CopyComparison> table(found.all);
  add_step(
      table, synthetic, [](Row one) -> auto& { return *one.after; });
  table.add("copy", [](Row one) { return copy_text(one.after->step); });
  table.add("against", against_text);
  table.add("alone_gb_per_s", [](Row one) { return six_digits(one.alone_gb_per_s); });
  table.add("in_step_gb_per_s", [](Row one) { return six_digits(one.in_step_gb_per_s); });
  table.add("effects", effects_value);
  table.add("noise_ratio", [floor = found.floor](Row) { return six_digits(floor); });
  table.add("account", copy_account);
  return table.table();
}

// Sentences have no legend. So they call an undecided effect undecided, and also a "same" whose
// smallest detectable difference is unknown.
std::string verdict_in_words(const CopyEffect& effect) {
  if (effect.verdict == Verdict::not_decided ||
      (effect.verdict == Verdict::no_difference && !effect.detectable))
    return "not decided";
  return verdict_text(effect.verdict);
}

// The differences that effects with the verdict "same" could hide.
std::string detectable_text(const std::vector<const CopyComparison*>& comparisons) {
  double low = HUGE_VAL, high = 0;
  for (const CopyComparison* one : comparisons)
    for (const CopyEffect& effect : one->effects)
      if (effect.verdict == Verdict::no_difference && effect.detectable) {
        low = std::min(low, *effect.detectable);
        high = std::max(high, *effect.detectable);
      }
  if (high == 0)
    return "";
  std::string range = percent_above(low);
  if (std::string last = percent_above(high); last != range)
    range += " to " + last;
  return "same: the smallest detectable difference is " + range + ", depending on the row.";
}

std::string why_open(const std::vector<const CopyComparison*>& comparisons) {
  for (const CopyComparison* one : comparisons)
    for (const CopyEffect& effect : one->effects)
      if (effect.why_not_decided)
        return in_words(effect.why_not_decided);
  return "";
}

Section kind_section(const std::vector<const CopyComparison*>& kind, const std::string& mark) {
  const steps::StepResult& first = *kind.front()->before;
  Section section{"input_copies",
                  fmt::format("input copies beside the step: {}{}{}", describe_step(first),
                              first.is_default ? "" : ", " + first.setting, mark),
                  {View{effects_table(kind)}}};
  if (std::string text = detectable_text(kind); !text.empty())
    section.blocks.push_back(Text{"", text, 2});
  if (std::string why = why_open(kind); !why.empty())
    section.blocks.push_back(Text{"", "open: " + why, 2});
  return section;
}

Section copy_reading_section(const std::optional<double>& floor) {
  constexpr int k_hang = 17;
  return {
      "reading_input_copies",
      "How to read input copies",
      {Text{"  ms, then",
            "without and with the copy; communication and computing are each measured alone. Rows "
            "of the copy: alone, then beside communication or in the whole step. Pageable vs "
            "pinned: with the copy from pinned, then from pageable memory. Medians over processes.",
            k_hang},
       Text{
           "  times",
           "geometric mean of the ratios within processes: it may differ from that of the medians.",
           k_hang},
       Text{"  copy",
            "part of the loss in which the step only waits for the copy. transfer: uncovered "
            "transfer takes longer; slowed: computing takes longer.",
            k_hang},
       Text{"  verdict",
            fmt::format("on ratios within a process; the chance of any false verdict in the run is "
                        "{:.0f}%{}.",
                        100 * k_alpha,
                        floor ? fmt::format("; a ratio below {:.3f} is noise: two halves of the "
                                            "processes differed by that much",
                                            *floor)
                              : ""),
            k_hang}}};
}

} // namespace

Report input_copy_report(const RunFigures& figures) {
  const auto found =
      std::make_shared<const steps::CopyComparisons>(steps::copy_comparisons(figures.steps));
  Report report{.data = {{"input_copies", copies_table(*found, is_synthetic(figures.run))}},
                .figures = {found}};
  std::vector<const CopyComparison*> left;
  for (const CopyComparison& one : found->all)
    left.push_back(&one);
  while (!left.empty()) {
    std::vector<const CopyComparison*> kind;
    for (const CopyComparison* one : left)
      if (same_but_copy(*left.front(), *one))
        kind.push_back(one);
    std::erase_if(left, [&](const CopyComparison* one) {
      return std::find(kind.begin(), kind.end(), one) != kind.end();
    });
    report.sections.push_back(kind_section(kind, synthetic_mark(figures.run)));
    report.sections.push_back(
        {"input_copy_losses",
         "What the step loses to the copy, in percent of the step time; GB/s of "
         "one rank's copy alone and in the step",
         {View{accounts_table(kind)}},
         2});
  }
  if (!found->all.empty())
    report.sections.push_back(copy_reading_section(found->floor));
  return report;
}

std::vector<std::string> input_copy_sentences(const std::vector<steps::StepResult>& results) {
  const steps::CopyComparisons found = steps::copy_comparisons(results);
  std::vector<std::string> sentences;
  for (const CopyComparison& one : found.all) {
    bool is_widest = std::all_of(found.all.begin(), found.all.end(), [&](const auto& other) {
      return !same_but_copy(one, other) ||
             other.after->step.ranks.size() <= one.after->step.ranks.size();
    });
    if (!is_widest || !one.after->is_default || one.effects.empty())
      continue;
    std::vector<std::string> parts;
    for (const CopyEffect& effect : one.effects)
      if (effect.what != Slowed::copy_in_step)
        parts.push_back(fmt::format("{} {:.2f} times as long ({})", model::to_string(effect.what),
                                    effect.ratio, verdict_in_words(effect)));
    sentences.push_back(fmt::format(
        "input copy {} against {} at {}: {}", copy_text(one.after->step), against_text(one),
        count_of(one.after->step.ranks.size(), "rank", "ranks"), fmt::join(parts, ", ")));
    if (one.account && one.account->sum() > 0.0005 && !one.before->step.copies_input())
      sentences.back() += "; " + loss_sentence(*one.account, "the copy");
  }
  return sentences;
}

} // namespace ncclprobe::analysis
