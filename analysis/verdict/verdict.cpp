// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/verdict.h"

#include "analysis/results/label_key.h"
#include "analysis/verdict/default_arms.h"
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

void compare_arms(const std::vector<SettingResult>& results, Verdicts& verdicts) {
  std::array<std::vector<double>, k_size_classes> distances;
  std::vector<double> p_values;
  for (const SettingResult& result : results) {
    if (!result.is_default || result.data == DataState::wrong)
      continue;
    DefaultArms times = default_arms(result);
    auto test = welch_ratio(times.even_ns, times.odd_ns, k_confidence);
    if (!test)
      continue;
    verdicts.arms.push_back({&result, *test});
    distances[size_class(result.label.bytes)].push_back(distance(test->ratio));
    p_values.push_back(test->p);
    verdicts.arms_differ += test->interval.low > 1 || test->interval.high < 1;
  }
  for (double p : holm_adjusted(p_values))
    verdicts.lowest_arms_p = std::min(verdicts.lowest_arms_p, p);
  for (std::size_t c = 0; c < k_size_classes; ++c)
    if (auto& of_class = distances[c]; !of_class.empty())
      verdicts.floors[c] =
          NoiseFloor{quantile(of_class, of_class.size() < k_percentile_cells ? 1.0 : 0.95),
                     static_cast<int>(of_class.size())};
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
    one.why_not_decided = too_noisy_text(*one.detectable);
  } else {
    one.verdict = Verdict::no_difference;
  }
}

// For either side; empty if both loaded the requested libraries, on the requested CPUs.
std::string not_as_asked(const Comparison& one) {
  if (!one.setting->not_as_asked.empty())
    return one.setting->not_as_asked;
  const std::string& of_default = one.baseline->not_as_asked;
  return of_default.empty() ? "" : "of the default, " + of_default;
}

// Empty if it can be decided.
std::string why_not_decided(const Comparison& one, const std::optional<NoiseFloor>& floor) {
  auto too_few = [](const SettingResult& result, std::string_view whose) {
    return fmt::format("{} {} of {}, {} are needed", result.processes.size(),
                       result.processes.size() == 1 ? "process" : "processes", whose,
                       k_least_processes);
  };
  if (std::string problem = not_as_asked(one); !problem.empty())
    return problem;
  if (one.setting->processes.size() < k_least_processes)
    return too_few(*one.setting, "the setting");
  if (one.baseline->processes.size() < k_least_processes)
    return too_few(*one.baseline, "the default");
  if (!floor)
    return "the default does not have two arms, so the noise of the run is unknown";
  return "";
}

} // namespace

std::string too_noisy_text(double detectable) {
  return fmt::format("too noisy for a verdict, which needs a difference of {:.0f}%",
                     100 * (detectable - 1));
}

bool same_family(const SettingResult& a, const SettingResult& b) {
  model::CellLabel label = a.label;
  label.bytes = b.label.bytes;
  return label == b.label && a.ranks == b.ranks && a.timing_mode == b.timing_mode;
}

const Comparison* Verdicts::of(const SettingResult& result) const {
  // In the order of the results, and so of their addresses.
  auto found = std::ranges::lower_bound(comparisons, &result, {}, &Comparison::setting);
  return found == comparisons.end() || found->setting != &result ? nullptr : &*found;
}

Verdicts judge(const std::vector<SettingResult>& results) {
  Verdicts verdicts;
  compare_arms(results, verdicts);
  const TypicalScatter typical(results);
  const Baselines baselines(results);
  std::vector<std::size_t> tested; // in verdicts.comparisons
  std::vector<double> p_values;
  for (const SettingResult& setting : results) {
    if (setting.is_default || setting.data == DataState::wrong || !has_times(setting))
      continue;
    const SettingResult* baseline = baselines.of(setting);
    if (!baseline || baseline->data == DataState::wrong || !has_times(*baseline))
      continue;
    Comparison one{.setting = &setting, .baseline = baseline};
    one.speed_ratio =
        geometric_mean(process_times_ns(*baseline)) / geometric_mean(process_times_ns(setting));
    one.tests = tests_of(one, typical);
    take_most_careful(one);
    one.throttled = setting.throttled_processes + baseline->throttled_processes > 0;
    const auto& floor = verdicts.floors[size_class(setting.label.bytes)];
    one.why_not_decided = why_not_decided(one, floor);
    if (one.why_not_decided.empty()) {
      tested.push_back(verdicts.comparisons.size());
      p_values.push_back(*one.p);
    }
    verdicts.comparisons.push_back(std::move(one));
  }
  verdicts.tested = static_cast<int>(tested.size());
  auto adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    Comparison& one = verdicts.comparisons[tested[i]];
    double floor = verdicts.floors[size_class(one.setting->label.bytes)]->ratio;
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
    if (comparison && sum.withheld.empty())
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
