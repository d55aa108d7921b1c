// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/input_copy_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/result_tables.h"
#include "analysis/report/step_text.h"
#include "analysis/steps/input_copies.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using steps::CopyComparison;
using steps::CopyEffect;
using steps::Slowed;

std::string verdict_text(Verdict verdict) {
  return verdict == Verdict::no_difference ? "same"
         : verdict == Verdict::not_decided ? "open"
                                           : std::string(model::to_string(verdict));
}

std::string against_text(const CopyComparison& one) {
  std::string_view before = one.before->step.input_copy();
  return before.empty() ? "none" : std::string(before);
}

std::string rate_text(const std::optional<double>& gb_per_s) {
  return gb_per_s ? fmt::format("{:.1f}", *gb_per_s) : "-";
}

// Of one kind of step, whatever its copy and its ranks.
bool same_but_copy(const CopyComparison& a, const CopyComparison& b) {
  auto rest = [](const CopyComparison& one) {
    workload::StepLabel label = one.after->step;
    label.ranks.clear();
    std::erase_if(label.options, [](const std::string& word) { return word.starts_with("copy="); });
    return label;
  };
  return rest(a) == rest(b) && a.after->setting == b.after->setting &&
         a.after->label.type == b.after->label.type;
}

std::string render_effects(const std::vector<const CopyComparison*>& comparisons) {
  TextTable table({{"ranks"},
                   {"copy", TextTable::Align::left},
                   {"what", TextTable::Align::left},
                   {"ms"},
                   {"then"},
                   {"times"},
                   {fmt::format("{:.0f}% interval", 100 * k_confidence)},
                   {"verdict", TextTable::Align::left}});
  for (const CopyComparison* one : comparisons) {
    std::string copy = std::string(one->after->step.input_copy());
    if (!one->before->step.input_copy().empty())
      copy = "pageable vs pinned";
    std::string ranks = ranks_text(*one->after);
    for (const CopyEffect& effect : one->effects) {
      table.add_row(
          {ranks, copy, std::string(model::to_string(effect.what)), ms_text(effect.before_ns),
           ms_text(effect.after_ns), fmt::format("{:.3f}", effect.ratio),
           effect.test
               ? fmt::format("{:.3f}-{:.3f}", effect.test->interval.low, effect.test->interval.high)
               : "-",
           verdict_text(effect.verdict)});
      copy.clear();
      ranks.clear();
    }
  }
  return table.render(2);
}

std::string render_accounts(const std::vector<const CopyComparison*>& comparisons) {
  std::vector<TextTable::Column> columns{
      {"ranks"}, {"copy", TextTable::Align::left}, {"alone"}, {"with"}, {"lost"}};
  append_loss_columns(columns, {.copy = true});
  TextTable table(columns);
  for (const CopyComparison* one : comparisons) {
    if (!one->account || !one->before->step.input_copy().empty())
      continue;
    std::vector<std::string> cells{ranks_text(*one->after),
                                   std::string(one->after->step.input_copy()),
                                   rate_text(one->alone_gb_per_s), rate_text(one->in_step_gb_per_s),
                                   percent_text(one->account->sum())};
    append_loss_cells(cells, *one->account, {.copy = true});
    table.add_row(std::move(cells));
  }
  return paragraph("",
                   "What the step loses to it, in percent of the step time; GB/s of one rank's "
                   "copy alone and in the step",
                   2) +
         table.render(2);
}

// In a sentence there is no legend: what could not be told is said to be undecided, and so is a
// "same" of which nobody knows what it could have hidden.
std::string verdict_in_words(const CopyEffect& effect) {
  if (effect.verdict == Verdict::not_decided ||
      (effect.verdict == Verdict::no_difference && !effect.detectable))
    return "not decided";
  return verdict_text(effect.verdict);
}

// What the effects that are "same" could have hidden.
std::string render_detectable(const std::vector<const CopyComparison*>& comparisons) {
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
  return paragraph(
      "", "same: the smallest detectable difference is " + range + ", depending on the row.", 2);
}

std::string why_open(const std::vector<const CopyComparison*>& comparisons) {
  for (const CopyComparison* one : comparisons)
    for (const CopyEffect& effect : one->effects)
      if (!effect.why_not_decided.empty())
        return effect.why_not_decided;
  return "";
}

} // namespace

std::string render_input_copies(const model::Run& run,
                                const std::vector<steps::StepResult>& results) {
  const steps::CopyComparisons found = steps::copy_comparisons(results);
  std::vector<const CopyComparison*> left;
  for (const CopyComparison& one : found.all)
    left.push_back(&one);
  std::string out;
  while (!left.empty()) {
    std::vector<const CopyComparison*> kind;
    for (const CopyComparison* one : left)
      if (same_but_copy(*left.front(), *one))
        kind.push_back(one);
    std::erase_if(left, [&](const CopyComparison* one) {
      return std::find(kind.begin(), kind.end(), one) != kind.end();
    });
    const steps::StepResult& first = *kind.front()->before;
    out +=
        "\n" + paragraph("",
                         fmt::format("input copies beside the step: {}{}{}", describe_step(first),
                                     first.is_default ? "" : ", " + printable(first.setting),
                                     synthetic_mark(run)),
                         0);
    out += render_effects(kind) + render_detectable(kind);
    if (std::string why = why_open(kind); !why.empty())
      out += paragraph("", "open: " + why, 2);
    out += "\n" + render_accounts(kind);
  }
  if (out.empty())
    return "";
  constexpr int k_hang = 17;
  out += "\nHow to read input copies\n";
  out += paragraph("  ms, then",
                   "without the copy and with it; communication without computing beside it, "
                   "computing without communication. Of the copy: alone, and then beside "
                   "communication or in the whole step. Pageable vs pinned: with the copy from "
                   "pinned memory, then from pageable. Medians over processes.",
                   k_hang);
  out += paragraph("  times",
                   "geometric mean of each process's own ratio: it may contradict the two medians.",
                   k_hang);
  out += paragraph("  copy",
                   "of what is lost: the step has nothing to do but wait for the copy. trans.: "
                   "uncovered transfer takes longer; slow: computing does.",
                   k_hang);
  out += paragraph(
      "  verdict",
      fmt::format("of ratios within a process; chance of any false one in the run {:.0f}%{}.",
                  100 * k_alpha,
                  found.floor ? fmt::format("; a ratio below {:.3f} is noise: so far two halves "
                                            "of the processes lay apart",
                                            *found.floor)
                              : ""),
      k_hang);
  return out;
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
        "input copy {} against {} at {}: {}", one.after->step.input_copy(), against_text(one),
        count_of(one.after->step.ranks.size(), "rank", "ranks"), fmt::join(parts, ", ")));
    if (one.account && one.account->sum() > 0.0005 && one.before->step.input_copy().empty())
      sentences.back() += "; " + loss_sentence(*one.account, "the copy");
  }
  return sentences;
}

} // namespace ncclprobe::analysis
