// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/verdict.h"

#include "analysis/results/label_key.h"
#include "analysis/verdict/default_arms.h"
#include "analysis/verdict/paired_ratios.h"
#include "analysis/verdict/typical_scatter.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ncclprobe::analysis {
namespace {

// The default's results, by cell.
class Baselines {
public:
  explicit Baselines(const std::vector<SettingResult>& results) {
    for (const SettingResult& result : results)
      if (result.is_default)
        by_cell_.emplace(cell_of(result), &result);
  }
  // Null if the default has no result in this cell.
  const SettingResult* of(const SettingResult& setting) const {
    auto found = by_cell_.find(cell_of(setting));
    return found == by_cell_.end() ? nullptr : found->second;
  }

private:
  using Cell = std::tuple<LabelKey, int, model::TimingMode>;
  static Cell cell_of(const SettingResult& result) {
    return {LabelKey{&result.label}, result.ranks, result.timing_mode};
  }
  std::map<Cell, const SettingResult*> by_cell_;
};

// Above 1, whichever side is larger.
double distance(double ratio) {
  return std::max(ratio, 1 / ratio);
}

// Those of one kind: between processes, or within them.
struct Arms {
  std::vector<ArmComparison> all;
  NoiseFloors floors;
};

// Of the default, or of all other settings.
template <class Test>
Arms compare_arms(const std::vector<SettingResult>& results, bool of_default, Test test_of) {
  Arms arms;
  std::array<std::vector<double>, k_size_classes> distances;
  for (const SettingResult& result : results) {
    if (result.is_default != of_default || result.data == DataState::wrong)
      continue;
    std::optional<RatioTest> test = test_of(result);
    if (!test)
      continue;
    arms.all.push_back({&result, *test});
    distances[size_class(result.label.bytes)].push_back(distance(test->ratio));
  }
  for (std::size_t c = 0; c < k_size_classes; ++c)
    if (auto& of_class = distances[c]; !of_class.empty())
      arms.floors[c] =
          NoiseFloor{quantile(of_class, of_class.size() < k_percentile_cells ? 1.0 : 0.95),
                     static_cast<int>(of_class.size())};
  return arms;
}

// True if processes measured in-process settings next to the default.
bool has_pairs(const std::vector<SettingResult>& results, const Baselines& baselines) {
  return std::ranges::any_of(results, [&](const SettingResult& result) {
    const SettingResult* baseline = result.is_default ? nullptr : baselines.of(result);
    return baseline != nullptr && !paired_ratios(*baseline, result).empty();
  });
}

Arms arms_between_processes(const std::vector<SettingResult>& results, bool of_default) {
  return compare_arms(results, of_default, [](const SettingResult& result) {
    DefaultArms times = default_arms(result);
    return welch_ratio(times.even_ns, times.odd_ns, k_confidence);
  });
}

void compare_arms(const std::vector<SettingResult>& results, const Baselines& baselines,
                  Verdicts& verdicts) {
  Arms between = arms_between_processes(results, true);
  Arms within;
  if (has_pairs(results, baselines))
    within = compare_arms(results, true, [](const SettingResult& result) {
      return paired_ratio(paired_arms(result), k_confidence);
    });
  std::vector<double> p_values;
  for (const Arms* arms : {&between, &within})
    for (const ArmComparison& one : arms->all)
      p_values.push_back(one.test.p);
  for (double p : holm_adjusted(p_values))
    verdicts.lowest_arms_p = std::min(verdicts.lowest_arms_p, p);
  verdicts.arms = std::move(between.all);
  verdicts.floors = between.floors;
  verdicts.paired_arms = std::move(within.all);
  verdicts.paired_floors = within.floors;
}

// A verdict needs all of them (docs/method.md).
std::vector<RatioTest> tests_of(const Comparison& one, const TypicalScatter& typical) {
  auto times_ns = process_times_ns(*one.setting), default_ns = process_times_ns(*one.baseline);
  auto own = welch_ratio(default_ns, times_ns, k_confidence);
  if (!own)
    return {};
  std::vector<RatioTest> tests{*own};
  auto of_setting = typical.in_size_class_of(*one.setting);
  auto of_default = typical.in_size_class_of(*one.baseline);
  if (of_setting && of_default)
    tests.push_back(ratio_test(one.speed_ratio, {default_ns.size(), *of_default},
                               {times_ns.size(), *of_setting}, k_confidence));
  if (auto of_cell = typical.in_cell_of(*one.setting))
    tests.push_back(
        ratio_test(one.speed_ratio, default_ns.size(), times_ns.size(), *of_cell, k_confidence));
  return tests;
}

std::vector<RatioTest> paired_tests_of(const Comparison& one, const std::vector<double>& ratios,
                                       const PairedScatter& typical) {
  auto own = paired_ratio(ratios, k_confidence);
  if (!own)
    return {};
  std::vector<RatioTest> tests{*own};
  for (const auto& scatter :
       {typical.in_size_class_of(*one.setting), typical.in_cell_of(*one.setting)})
    if (scatter)
      tests.push_back(paired_ratio(one.speed_ratio, ratios.size(), *scatter, k_confidence));
  return tests;
}

void take_most_careful(Comparison& one) {
  if (one.tests.empty())
    return;
  one.interval = one.tests.front().interval;
  one.p = one.tests.front().p;
  for (const RatioTest& test : one.tests) {
    one.interval->low = std::min(one.interval->low, test.interval.low);
    one.interval->high = std::max(one.interval->high, test.interval.high);
    one.p = std::max(*one.p, test.p);
  }
}

// The smallest ratio above 1 that would have had a verdict.
double detectable_ratio(const Comparison& one, double floor, double alpha) {
  double detectable = floor;
  for (const RatioTest& test : one.tests)
    detectable = std::max(detectable, detectable_ratio(test, alpha));
  return detectable;
}

// Sets the verdict of a comparison that can be decided.
void decide(Comparison& one, double floor) {
  if (distance(one.speed_ratio) > floor && *one.adjusted_p < k_alpha) {
    one.verdict = one.speed_ratio > 1 ? Verdict::better : Verdict::worse;
  } else if (*one.detectable > k_largest_missed_ratio) {
    one.too_noisy = true;
    one.why_not_decided = undecided::too_noisy(*one.detectable);
  } else {
    one.verdict = Verdict::no_difference;
  }
}

// For either side; absent if both loaded the requested libraries, on the requested CPUs.
Why not_as_asked(const Comparison& one) {
  if (const std::string& problem = one.setting->not_as_asked; !problem.empty())
    return Finding{&undecided::k_not_as_asked, {{"problem", problem}}};
  if (const std::string& problem = one.baseline->not_as_asked; !problem.empty())
    return Finding{&undecided::k_default_not_as_asked, {{"problem", problem}}};
  return {};
}

// Absent if it can be decided.
Why why_not_decided(const Comparison& one, const std::optional<NoiseFloor>& floor) {
  if (Why problem = not_as_asked(one))
    return problem;
  if (one.pairs > 0 && one.pairs < k_least_processes)
    return undecided::too_few_pairs(one.pairs);
  for (const auto& [result, whose] :
       {std::pair{one.setting, "the setting"}, std::pair{one.baseline, "the default"}})
    if (result->processes.size() < k_least_processes)
      return Finding{&undecided::k_too_few_processes,
                     {{"whose", whose},
                      {"processes", result->processes.size()},
                      {"least", k_least_processes}}};
  if (!floor)
    return Finding{one.pairs > 0 ? &undecided::k_no_noise_in_process
                                 : &undecided::k_no_noise_floor};
  return {};
}

} // namespace

Finding undecided::too_noisy(double detectable) {
  return {&k_too_noisy, {{"percent", 100 * (detectable - 1)}}};
}

Finding undecided::too_few_pairs(std::size_t processes) {
  return {&k_too_few_pairs, {{"processes", processes}, {"least", k_least_processes}}};
}

bool same_family(const SettingResult& a, const SettingResult& b) {
  model::CellLabel label = a.label;
  label.bytes = b.label.bytes;
  return label == b.label && a.ranks == b.ranks && a.timing_mode == b.timing_mode;
}

const std::optional<NoiseFloor>& Verdicts::floor_of(const Comparison& one) const {
  const NoiseFloors& of_kind = one.pairs > 0 ? paired_floors : floors;
  return of_kind[size_class(one.setting->label.bytes)];
}

const Comparison* Verdicts::of(const SettingResult& result) const {
  // In the order of the results, and so of their addresses.
  auto found = std::ranges::lower_bound(comparisons, &result, {}, &Comparison::setting);
  return found == comparisons.end() || found->setting != &result ? nullptr : &*found;
}

NoiseFloors noise_floors(const std::vector<SettingResult>& results) {
  return arms_between_processes(results, std::ranges::any_of(results, &SettingResult::is_default))
      .floors;
}

Verdicts judge(const std::vector<SettingResult>& results) {
  Verdicts verdicts;
  const Baselines baselines(results);
  compare_arms(results, baselines, verdicts);
  const TypicalScatter typical(results);
  const PairedScatter typical_of_pairs(results);
  std::vector<std::size_t> tested; // in verdicts.comparisons
  std::vector<double> p_values;
  for (const SettingResult& setting : results) {
    if (setting.is_default || setting.data == DataState::wrong || !has_times(setting))
      continue;
    const SettingResult* baseline = baselines.of(setting);
    if (!baseline || baseline->data == DataState::wrong || !has_times(*baseline))
      continue;
    Comparison one{.setting = &setting, .baseline = baseline};
    const std::vector<double> ratios = paired_ratios(*baseline, setting);
    one.pairs = ratios.size();
    one.speed_ratio = ratios.empty() ? geometric_mean(process_times_ns(*baseline)) /
                                           geometric_mean(process_times_ns(setting))
                                     : geometric_mean(ratios);
    one.tests =
        ratios.empty() ? tests_of(one, typical) : paired_tests_of(one, ratios, typical_of_pairs);
    take_most_careful(one);
    one.throttled = setting.throttled_processes + baseline->throttled_processes > 0;
    one.why_not_decided = why_not_decided(one, verdicts.floor_of(one));
    if (!one.why_not_decided) {
      tested.push_back(verdicts.comparisons.size());
      p_values.push_back(*one.p);
    }
    verdicts.comparisons.push_back(std::move(one));
  }
  verdicts.tested = static_cast<int>(tested.size());
  auto adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    Comparison& one = verdicts.comparisons[tested[i]];
    double floor = verdicts.floor_of(one)->ratio;
    one.adjusted_p = adjusted[i];
    // Holm's strictest step: the ratio that would have had a verdict regardless of the other
    // comparisons.
    one.detectable = detectable_ratio(one, floor, k_alpha / static_cast<double>(tested.size()));
    decide(one, floor);
  }
  return verdicts;
}

std::vector<SettingVerdict> setting_verdicts(const std::vector<SettingResult>& results,
                                             const Verdicts& verdicts) {
  std::map<std::string, SettingVerdict> by_name;
  for (const SettingResult& result : results) {
    if (result.is_default)
      continue;
    const Comparison* comparison = verdicts.of(result);
    if (!comparison && result.data != DataState::wrong)
      continue;
    SettingVerdict& sum = by_name[result.setting];
    sum.setting = result.setting;
    if (comparison && !sum.withheld)
      sum.withheld = not_as_asked(*comparison);
    sum.too_noisy += comparison && comparison->too_noisy;
    if (comparison && comparison->verdict == Verdict::better)
      sum.best_ratio = std::max(sum.best_ratio, comparison->speed_ratio);
    if (!comparison)
      ++sum.wrong;
    else
      ++(comparison->verdict == Verdict::better          ? sum.better
         : comparison->verdict == Verdict::worse         ? sum.worse
         : comparison->verdict == Verdict::no_difference ? sum.no_difference
                                                         : sum.not_decided);
  }
  std::vector<SettingVerdict> sums;
  for (auto& [name, sum] : by_name)
    sums.push_back(std::move(sum));
  return sums;
}

} // namespace ncclprobe::analysis
