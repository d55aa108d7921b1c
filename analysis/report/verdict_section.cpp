// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/verdict_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/conditions.h"
#include "analysis/verdict/slowest_trial.h"
#include "base/text_table.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;

// "5", "5 to 10".
std::string range_text(std::size_t low, std::size_t high) {
  return low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
}

std::string process_counts(const Verdicts& verdicts, const SettingResult* Comparison::*side) {
  std::size_t low = SIZE_MAX, high = 0;
  for (const Comparison& one : verdicts.comparisons) {
    low = std::min(low, (one.*side)->processes.size());
    high = std::max(high, (one.*side)->processes.size());
  }
  return range_text(low, high);
}

std::string floor_text(const Verdicts& verdicts) {
  static constexpr std::array<std::string_view, k_size_classes> k_names{
      "up to 64K", "above 64K up to 4M", "above 4M"};
  std::vector<std::string> parts;
  for (std::size_t c = 0; c < k_size_classes; ++c)
    if (const auto& floor = verdicts.floors[c])
      parts.push_back(
          fmt::format("{} {} ({})", percent_above(floor->ratio), k_names[c],
                      count_of(static_cast<std::size_t>(floor->cells), "cell", "cells")));
  return join(parts, ", ");
}

bool any_throttled(const Verdicts& verdicts) {
  return std::any_of(verdicts.comparisons.begin(), verdicts.comparisons.end(),
                     [](const Comparison& one) { return one.throttled; });
}

} // namespace

std::string answer_text(const std::vector<SettingVerdict>& settings, const Verdicts& verdicts) {
  if (settings.empty())
    return "";
  std::vector<std::string> clear, mixed, wrong, withheld;
  int open = 0, too_noisy = 0;
  for (const SettingVerdict& one : settings) {
    std::string name = printable(one.setting);
    if (!one.withheld.empty())
      withheld.push_back(fmt::format("No verdict on {}: {}.", name, printable(one.withheld)));
    else
      open += one.not_decided - one.too_noisy;
    too_noisy += one.too_noisy;
    if (one.wrong > 0)
      wrong.push_back(name + " delivers wrong data: do not use it.");
    else if (one.better > 0)
      (one.worse == 0 ? clear : mixed)
          .push_back(fmt::format("{} is better in {} of {} cells (up to {:.2f}x) and worse in {}.",
                                 name, one.better, one.cells(), one.best_ratio,
                                 one.worse == 0 ? "none" : std::to_string(one.worse)));
  }
  std::vector<std::string> answer;
  if (verdicts.tested == 0 && open == 0 && !withheld.empty())
    answer = {};
  else if (verdicts.tested == 0)
    answer = {fmt::format("Not decided: a verdict needs at least {} processes of the setting and "
                          "of the default (--repeat {}).",
                          k_least_processes, k_least_processes)};
  else if (!clear.empty())
    answer = clear;
  else if (!mixed.empty())
    answer = {"Keep the defaults, unless it is the better cells that matter to you: " +
              join(mixed, " ")};
  else if (2 * too_noisy > verdicts.tested)
    answer = {"Too noisy to tell whether any setting is better."};
  else
    answer = {"Keep the defaults: no setting is better in any cell, beyond chance and the noise of "
              "this run."};
  if (too_noisy > 0)
    answer.push_back(fmt::format(
        "{} of {} would have missed a difference of {:.0f}%.", too_noisy,
        count_of(static_cast<std::size_t>(verdicts.tested), "comparison", "comparisons"),
        100 * (k_largest_missed_ratio - 1)));
  if (verdicts.tested > 0 && open > 0)
    answer.push_back(fmt::format("{} not decided.", count_of(static_cast<std::size_t>(open),
                                                             "comparison is", "comparisons are")));
  answer.insert(answer.end(), withheld.begin(), withheld.end());
  answer.insert(answer.end(), wrong.begin(), wrong.end());
  return join(answer, " ");
}

std::string noise_advice(const RunSummary& run, const std::vector<SettingResult>& results,
                         const Verdicts& verdicts) {
  std::size_t processes = 0;
  for (const Comparison& one : verdicts.comparisons)
    if (one.too_noisy)
      processes = std::max(processes, one.setting->processes.size());
  if (processes == 0)
    return "";
  std::string advice = fmt::format(
      "Measure again on a machine that does nothing else (top and nvidia-smi show what runs "
      "there), or take more processes of each setting (--repeat {}).",
      2 * processes);
  if (std::string found = disturbances(summarise_conditions(run)); !found.empty())
    advice += fmt::format(" In this run, {}.", found);
  auto slowest = slowest_trial(results);
  if (slowest && slowest->slower > k_largest_missed_ratio)
    advice += fmt::format(" Trial {} ({}) was disturbed most: it took {:.1f} times as long as the "
                          "setting's other processes.",
                          slowest->trial, printable(slowest->setting), slowest->slower);
  return advice;
}

std::string render_answer(const RunSummary& run, const std::vector<SettingResult>& results,
                          const Verdicts& verdicts) {
  auto settings = setting_verdicts(results, verdicts);
  if (settings.empty())
    return "";
  std::string out = paragraph("Answer", answer_text(settings, verdicts) + synthetic_mark(run), 13);
  if (std::string advice = noise_advice(run, results, verdicts); !advice.empty())
    out += paragraph("What to do", advice, 13);
  if (verdicts.lowest_arms_p < k_alpha)
    out += paragraph(
        "Caution",
        fmt::format("the default differs from itself (A/A, adjusted p {:.2g}): something changed "
                    "during this run, and verdicts may come from that.",
                    verdicts.lowest_arms_p),
        13);
  if (any_throttled(verdicts))
    out += paragraph("Caution",
                     "GPUs ran slower than asked for (throttled) in some processes: verdicts "
                     "marked * compare such cells.",
                     13);
  TextTable table({{"setting against the default", TextTable::Align::left},
                   {"better"},
                   {"worse"},
                   {"no difference"},
                   {"not decided"},
                   {"wrong data"},
                   {"cells"}});
  for (const SettingVerdict& one : settings) {
    auto name = wrap(printable(one.setting), 34);
    table.add_row({name.front(), std::to_string(one.better), std::to_string(one.worse),
                   std::to_string(one.no_difference), std::to_string(one.not_decided),
                   std::to_string(one.wrong), std::to_string(one.cells())});
    for (std::size_t i = 1; i < name.size(); ++i)
      table.add_row({"  " + name[i]});
  }
  return out + "\n" + table.render(2);
}

std::string render_method(const Verdicts& verdicts) {
  if (verdicts.comparisons.empty())
    return "";
  constexpr int k_hang = 2;
  std::string out = "\nHow the verdicts were reached\n";
  out += paragraph(
      "",
      fmt::format("One observation is one process: the median of its times in a cell. Setting "
                  "(n = {}) and default, both arms (n = {}), are compared by Welch's "
                  "t-test on the logarithms of these times. The ratio is that of the geometric "
                  "means, above 1 if the setting is faster; its {:.0f}% interval is for that "
                  "comparison alone. No observation is left out. If a cell has two speeds, a few "
                  "processes may all run at the same one by chance, and then scatter too little. "
                  "So two more tests use the typical scatter of more processes: of all settings in "
                  "the cell, and of the same setting in all cells of its size class. The largest p "
                  "and the widest interval count.",
                  process_counts(verdicts, &Comparison::setting),
                  process_counts(verdicts, &Comparison::baseline), 100 * k_confidence),
      k_hang);
  out += paragraph(
      "",
      fmt::format(
          "Better or worse: p below {} after Holm's correction over the {} of this run, "
          "and a ratio beyond the A/A noise floor. The chance of any false verdict is then about "
          "{:.0f}% or less. Not decided: fewer than {} processes on a side, or too noisy: a "
          "difference of {:.0f}% would have been missed. Everything else is no difference.",
          k_alpha,
          count_of(static_cast<std::size_t>(verdicts.tested), "comparison tested",
                   "comparisons tested"),
          100 * k_alpha, k_least_processes, 100 * (k_largest_missed_ratio - 1)),
      k_hang);
  if (verdicts.arms.empty())
    return out + paragraph("", "A/A noise floor: not known, the default was not run in two arms.",
                           k_hang);
  bool percentile =
      std::any_of(verdicts.floors.begin(), verdicts.floors.end(),
                  [](const auto& floor) { return floor && floor->cells >= k_percentile_cells; });
  out += paragraph(
      "",
      fmt::format(
          "A/A noise floor of this run: {}. It is the largest ratio{} between the "
          "default's two arms, which differ in nothing. Their {:.0f}% interval excludes "
          "1 in {} of {}; chance alone makes that {:.1f} on average.",
          floor_text(verdicts),
          percentile ? fmt::format(" (from {} cells on, the 95th percentile)", k_percentile_cells)
                     : "",
          100 * k_confidence, verdicts.arms_differ, count_of(verdicts.arms.size(), "cell", "cells"),
          (1 - k_confidence) * static_cast<double>(verdicts.arms.size())),
      k_hang);
  return out;
}

} // namespace ncclprobe::analysis
