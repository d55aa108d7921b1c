// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/verdict_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "analysis/report/replay_section.h"
#include "analysis/results/conditions.h"
#include "analysis/results/export_line.h"
#include "analysis/verdict/slowest_trial.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis {
namespace {

// "5", "5 to 10".
std::string range_text(std::size_t low, std::size_t high) {
  return low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
}

// The least and the largest of `count`, over the comparisons of pairs, or over the others.
template <class Count>
std::string counts_text(const Verdicts& verdicts, bool of_pairs, Count count) {
  std::size_t low = SIZE_MAX, high = 0;
  for (const Comparison& one : verdicts.comparisons)
    if ((one.pairs > 0) == of_pairs) {
      low = std::min(low, count(one));
      high = std::max(high, count(one));
    }
  return range_text(low, high);
}

bool any_throttled(const Verdicts& verdicts) {
  return std::any_of(verdicts.comparisons.begin(), verdicts.comparisons.end(),
                     [](const Comparison& one) { return one.throttled; });
}

// A range of a family's sizes in which one setting is the best of those with a verdict.
struct Advice {
  const SettingResult* setting = nullptr; // at the first size
  std::uint64_t last_bytes = 0;
  double best_ratio = 1;
  bool can_be_exported = false;
};

bool is_variable(const model::Setting& setting) {
  return setting.name.starts_with("NCCL_") &&
         setting.name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
             std::string::npos;
}

std::vector<Advice> advices(const RunFigures& figures) {
  std::map<std::string, const SettingVerdict*> usable;
  for (const SettingVerdict& one : figures.settings)
    if (one.wrong == 0 && !one.withheld)
      usable[one.setting] = &one;
  // The results are sorted by family, then size.
  std::map<const SettingResult*, const Comparison*>
      best;                                // relative to the default in the same cell
  std::vector<const SettingResult*> cells; // that were compared
  for (const Comparison& one : figures.verdicts.comparisons) {
    auto [place, is_new] = best.try_emplace(one.baseline, nullptr);
    if (is_new)
      cells.push_back(one.baseline);
    if (one.verdict == Verdict::better && usable.contains(one.setting->setting) &&
        (!place->second || place->second->speed_ratio < one.speed_ratio))
      place->second = &one;
  }
  std::ranges::stable_sort(cells, {},
                           [](const SettingResult* cell) { return cell->label.placement; });
  std::vector<Advice> out;
  const SettingResult* last = nullptr; // the cell before
  for (const SettingResult* cell : cells) {
    const Comparison* one = best[cell];
    const bool goes_on = one && last && best[last] && same_family(*cell, *last) &&
                         best[last]->setting->setting == one->setting->setting;
    if (goes_on) {
      out.back().last_bytes = cell->label.bytes;
      out.back().best_ratio = std::max(out.back().best_ratio, one->speed_ratio);
    } else if (one) {
      const auto& settings = one->setting->settings;
      out.push_back({one->setting, cell->label.bytes, one->speed_ratio,
                     model::label_of(settings) == one->setting->setting &&
                         std::ranges::all_of(settings, is_variable)});
    }
    last = cell;
  }
  return out;
}

TablePtr advice_table(std::vector<Advice> all) {
  TableOf<Advice> table(std::move(all));
  using Row = const Advice&;
  add_operation(
      table, [](Row one) -> auto& { return one.setting->label; });
  table.add("first_bytes", [](Row one) { return one.setting->label.bytes; });
  table.add("last_bytes", &Advice::last_bytes);
  table.add("setting", [](Row one) { return one.setting->setting; });
  table.add("settings", [](Row one) { return one.setting->settings; });
  table.add("best_speed_ratio", [](Row one) { return six_digits(one.best_ratio); });
  return table.table();
}

TablePtr settings_table(const std::vector<SettingVerdict>& settings) {
  TableOf<SettingVerdict> table(settings);
  table.add("setting", &SettingVerdict::setting).titled("setting against the default").left(36);
  table.add("better", &SettingVerdict::better).titled("better");
  table.add("worse", &SettingVerdict::worse).titled("worse");
  table.add("no_difference", &SettingVerdict::no_difference).titled("no difference");
  table.add("not_decided", &SettingVerdict::not_decided).titled("not decided");
  table.add("too_noisy", &SettingVerdict::too_noisy);
  table.add("wrong_data", &SettingVerdict::wrong).titled("wrong data");
  table.add("cells", &SettingVerdict::cells).titled("cells");
  return table.table();
}

TablePtr floors_table(const NoiseFloors& of_class) {
  static constexpr std::array<std::string_view, k_size_classes> k_classes{"to_64K", "to_4M",
                                                                          "above_4M"};
  using Floor = std::pair<std::string_view, NoiseFloor>;
  std::vector<Floor> floors;
  for (std::size_t c = 0; c < k_size_classes; ++c)
    if (of_class[c])
      floors.emplace_back(k_classes[c], *of_class[c]);
  TableOf<Floor> table(std::move(floors));
  table.add("sizes", &Floor::first);
  table.add("ratio", [](const Floor& one) { return six_digits(one.second.ratio); });
  table.add("cells", [](const Floor& one) { return one.second.cells; });
  return table.table();
}

TablePtr arms_table(const std::vector<ArmComparison>& arms) {
  TableOf<ArmComparison> table(arms);
  add_label(
      table, [](const ArmComparison& one) -> auto& { return one.result->label; });
  table.add("ratio", [](const ArmComparison& one) { return six_digits(one.test.ratio); });
  table.add("interval", [](const ArmComparison& one) { return interval_value(one.test.interval); });
  return table.table();
}

// How settings of independent processes were compared.
std::string unpaired_text(const Verdicts& verdicts) {
  auto processes = [](const SettingResult* Comparison::*side) {
    return [side](const Comparison& one) { return (one.*side)->processes.size(); };
  };
  return fmt::format(
      "One observation is one process: the median of its times in a cell. Setting "
      "(n = {}) and default, both arms (n = {}), are compared by Welch's "
      "t-test on the logarithms of these times. The ratio is that of the geometric "
      "means, above 1 if the setting is faster; its {:.0f}% interval is for that "
      "comparison alone. No observation is left out. If a cell has two speeds, a few "
      "processes may all run at the same speed by chance. Their scatter is then too "
      "small. So two more tests use the typical scatter of more processes: of all "
      "settings in the cell, and of the same setting in all cells of its size class. "
      "The largest p and the widest interval count.",
      counts_text(verdicts, false, processes(&Comparison::setting)),
      counts_text(verdicts, false, processes(&Comparison::baseline)), 100 * k_confidence);
}

std::string paired_text(const Verdicts& verdicts) {
  return fmt::format(
      "In-process settings run in the same processes as the default, in random order. One "
      "observation is one process (n = {}): the ratio of its default's time to its setting's. "
      "Student's t-test on the logarithms of these ratios tells whether their geometric mean "
      "differs from 1. Here too, two more tests use the typical scatter of such ratios: of all "
      "in-process settings in the cell, and of the same setting in all cells of its size class. "
      "Each process measures the default twice, which gives the A/A noise floor within processes.",
      counts_text(verdicts, true, [](const Comparison& one) { return one.pairs; }));
}

std::string better_or_worse_text(int tested) {
  const std::string rest =
      fmt::format("Not decided: fewer than {} processes on a side, or too noisy: a difference of "
                  "{:.0f}% would have been missed. Everything else is no difference.",
                  k_least_processes, 100 * (k_largest_missed_ratio - 1));
  if (tested == 0)
    return "Nothing is called better or worse: no comparison of this run could be tested. " + rest;
  return fmt::format(
      "Better or worse: p below {} after Holm's correction over the {} of this run, and a ratio "
      "beyond the A/A noise floor. The chance of any false verdict is then about {:.0f}% or less. "
      "{}",
      k_alpha,
      count_of(static_cast<std::size_t>(tested), "tested comparison", "tested comparisons"),
      100 * k_alpha, rest);
}

std::string arms_text(const std::vector<ArmComparison>& arms, const NoiseFloors& floors,
                      std::string_view whose) {
  const bool percentile = std::ranges::any_of(
      floors, [](const auto& floor) { return floor && floor->cells >= k_percentile_cells; });
  const auto differ = std::ranges::count_if(arms, [](const ArmComparison& one) {
    return one.test.interval.low > 1 || one.test.interval.high < 1;
  });
  return fmt::format(
      "{}: {}. It is the largest ratio{} between the default's two arms, which are identical. "
      "Their {:.0f}% interval excludes 1 in {} of {}; chance alone would do so in {:.1f} on "
      "average.",
      whose, floor_text(floors),
      percentile ? fmt::format(" (the 95th percentile, from {} cells on)", k_percentile_cells) : "",
      100 * k_confidence, differ, count_of(arms.size(), "cell", "cells"),
      (1 - k_confidence) * static_cast<double>(arms.size()));
}

} // namespace

std::string floor_text(const NoiseFloors& floors) {
  static constexpr std::array<std::string_view, k_size_classes> k_names{
      "up to 64K", "above 64K up to 4M", "above 4M"};
  std::vector<std::string> parts;
  for (std::size_t c = 0; c < k_size_classes; ++c)
    if (const auto& floor = floors[c])
      parts.push_back(
          fmt::format("{} {} ({})", percent_above(floor->ratio), k_names[c],
                      count_of(static_cast<std::size_t>(floor->cells), "cell", "cells")));
  return join(parts, ", ");
}

std::vector<Finding> answer(const std::vector<SettingVerdict>& settings, const Verdicts& verdicts) {
  if (settings.empty())
    return {};
  std::vector<Finding> clear, mixed, wrong, withheld;
  int open = 0, too_noisy = 0;
  for (const SettingVerdict& one : settings) {
    if (one.withheld)
      withheld.push_back(
          {&k_withheld, {{"setting", one.setting}, {"why", in_words(one.withheld)}}});
    else
      open += one.not_decided - one.too_noisy;
    too_noisy += one.too_noisy;
    if (one.wrong > 0)
      wrong.push_back({&k_delivers_wrong_data, {{"setting", one.setting}}});
    else if (one.better > 0)
      (one.worse == 0 ? clear : mixed)
          .push_back({one.worse == 0 ? &k_better : &k_better_and_worse,
                      {{"setting", one.setting},
                       {"better", one.better},
                       {"cells", one.cells()},
                       {"best", ratio_text(one.best_ratio)},
                       {"worse", one.worse}}});
  }
  std::vector<Finding> found;
  if (verdicts.tested == 0 && (open > 0 || withheld.empty())) {
    found.push_back({&k_not_decided, {{"least_processes", k_least_processes}}});
  } else if (verdicts.tested > 0 && !clear.empty()) {
    found = clear;
  } else if (verdicts.tested > 0 && !mixed.empty()) {
    found = mixed;
    found.insert(found.begin(), {&k_keep_unless, {}});
  } else if (verdicts.tested > 0) {
    found.push_back({2 * too_noisy > verdicts.tested ? &k_too_noisy : &k_keep_defaults, {}});
  }
  if (too_noisy > 0)
    found.push_back({&k_would_have_missed,
                     {{"too_noisy", too_noisy},
                      {"comparisons", count_of(static_cast<std::size_t>(verdicts.tested),
                                               "comparison", "comparisons")},
                      {"percent", 100 * (k_largest_missed_ratio - 1)}}});
  if (verdicts.tested > 0 && open > 0)
    found.push_back(
        {&k_open,
         {{"open", count_of(static_cast<std::size_t>(open), "comparison is", "comparisons are")}}});
  found.insert(found.end(), withheld.begin(), withheld.end());
  found.insert(found.end(), wrong.begin(), wrong.end());
  return found;
}

std::vector<Finding> noise_advice(const RunSummary& run, const std::vector<SettingResult>& results,
                                  const Verdicts& verdicts) {
  std::size_t processes = 0;
  for (const Comparison& one : verdicts.comparisons)
    if (one.too_noisy)
      processes = std::max(processes, one.setting->processes.size());
  if (processes == 0)
    return {};
  std::vector<Finding> advice{{&k_measure_again, {{"processes", 2 * processes}}}};
  if (std::string found = disturbances(summarise_conditions(run)); !found.empty())
    advice.push_back({&k_disturbed_run, {{"disturbances", found}}});
  auto slowest = slowest_trial(results);
  if (slowest && slowest->slower > k_largest_missed_ratio)
    advice.push_back(
        {&k_disturbed_trial,
         {{"trial", slowest->trial}, {"setting", slowest->setting}, {"times", slowest->slower}}});
  return advice;
}

Section answer_section(const RunFigures& figures) {
  Section section{.key = "answer", .part = Section::Part::answer};
  if (figures.settings.empty())
    return section;
  constexpr int k_hang = 13;
  std::vector<Finding> found = answer(figures.settings, figures.verdicts);
  if (is_synthetic(figures.run))
    found.push_back({&k_of_synthetic_numbers, {}});
  section.blocks.push_back(Findings{"Answer", std::move(found), k_hang});
  if (auto advice = noise_advice(figures.run, figures.results, figures.verdicts); !advice.empty())
    section.blocks.push_back(Findings{"What to do", std::move(advice), k_hang});
  if (auto caution = replay_caution(figures); !caution.empty())
    section.blocks.push_back(Findings{"Replay", std::move(caution), k_hang});
  if (figures.verdicts.lowest_arms_p < k_alpha)
    section.blocks.push_back(
        Findings{"Caution", {{&k_not_steady, {{"p", figures.verdicts.lowest_arms_p}}}}, k_hang});
  if (any_throttled(figures.verdicts))
    section.blocks.push_back(Findings{"Caution", {{&k_throttled_comparisons, {}}}, k_hang});
  for (const Advice& one : advices(figures))
    if (one.can_be_exported) {
      const SettingResult& result = *one.setting;
      std::string sizes = cell_size(result.label);
      if (one.last_bytes != result.label.bytes && sizes != k_no_size)
        sizes += "-" + size_text(one.last_bytes);
      section.blocks.push_back(
          Text{"To set",
               fmt::format("for {}{}: up to {}{}", cell_name(result),
                           sizes == k_no_size ? "" : ", " + sizes, ratio_text(one.best_ratio),
                           synthetic_mark(figures.run)),
               k_hang});
      section.blocks.push_back(Code{{export_line(result.settings)}, k_hang});
    }
  return section;
}

Report verdict_report(const RunFigures& figures) {
  const Verdicts& verdicts = figures.verdicts;
  const TablePtr settings = settings_table(figures.settings);
  Report report{
      .sections = {answer_section(figures)},
      .data = {
          {"verdicts",
           Object{
               {"answer", in_words(answer(figures.settings, verdicts))},
               {"advice", in_words(noise_advice(figures.run, figures.results, verdicts))},
               {"test",
                "Welch's t-test on logarithms of process medians, also with the typical scatter "
                "of the cell and of the size class: the largest p, the widest interval; "
                "in-process settings: Student's t-test on logarithms of the ratios of pairs, with "
                "the same scatters"},
               {"correction", "Holm"},
               {"alpha", k_alpha},
               {"confidence", k_confidence},
               {"least_processes", k_least_processes},
               {"largest_missed_ratio", k_largest_missed_ratio},
               {"tested", verdicts.tested},
               {"settings", settings},
               {"to_set", advice_table(advices(figures))},
               {"noise_floor", floors_table(verdicts.floors)},
               {"noise_floor_in_process", floors_table(verdicts.paired_floors)},
               {"lowest_default_arms_p", six_digits(verdicts.lowest_arms_p)},
               {"default_arms", arms_table(verdicts.arms)},
               {"default_arms_in_process", arms_table(verdicts.paired_arms)}}}}};
  if (settings->rows > 0)
    report.sections.push_back(
        {.key = "verdicts", .blocks = {View{settings}}, .part = Section::Part::answer});
  return report;
}

Section method_section(const RunFigures& figures) {
  const Verdicts& verdicts = figures.verdicts;
  Section section{.key = "method", .part = Section::Part::method};
  if (verdicts.comparisons.empty())
    return section;
  section.title = "How the verdicts were reached";
  auto add = [&](std::string text) { section.blocks.push_back(Text{"", std::move(text), 2}); };
  const auto of_pairs = std::ranges::count_if(verdicts.comparisons,
                                              [](const Comparison& one) { return one.pairs > 0; });
  const bool all_pairs = of_pairs == std::ssize(verdicts.comparisons);
  if (!all_pairs)
    add(unpaired_text(verdicts));
  if (of_pairs > 0)
    add(paired_text(verdicts));
  add(better_or_worse_text(verdicts.tested));
  if (of_pairs > 0)
    add(verdicts.paired_arms.empty()
            ? "A/A noise floor within processes: unknown, because too few processes measured the "
              "default twice."
            : arms_text(verdicts.paired_arms, verdicts.paired_floors,
                        "A/A noise floor within processes"));
  if (!all_pairs)
    add(verdicts.arms.empty()
            ? "A/A noise floor: unknown, because the default was not run in two arms."
            : arms_text(verdicts.arms, verdicts.floors, "A/A noise floor of this run"));
  return section;
}

} // namespace ncclprobe::analysis
