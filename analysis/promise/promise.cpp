// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/promise/promise.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace ncclprobe::analysis {
namespace {

constexpr FindingKind k_kept{
    "kept", Severity::note,
    "The promise is kept: with {settings} the job's steps are {speed}. The promise: {promised}."};
constexpr FindingKind k_smaller{
    "smaller", Severity::warning,
    "The gain is smaller than promised: with {settings} the job's steps are {speed}. The promise: "
    "{promised}."};
constexpr FindingKind k_no_gain{
    "no_gain", Severity::warning,
    "The promise is not kept: the job's steps are {speed} with {settings}, which shows no gain. "
    "The promise: {promised}."};
constexpr FindingKind k_slower{
    "slower", Severity::error,
    "The job is slower: with {settings} its steps are {speed}. The promise: {promised}."};
constexpr FindingKind k_undecided{
    "undecided", Severity::warning,
    "Not decided: with {settings} the job's steps are {speed}. That excludes neither the promised "
    "{promised} nor that there is no gain. More --repeats, or longer runs, narrow the interval."};
constexpr FindingKind k_too_few{
    "too_few", Severity::warning,
    "No verdict: {pairs} pairs of runs have step times, and a verdict needs {needed}."};
constexpr FindingKind k_fails{"fails", Severity::error,
                              "The job fails with {settings}: {problem}."};

std::string speed_text(double speed, const Interval& interval) {
  return fmt::format("{:.3f}x as fast [{:.3f}, {:.3f}]", speed, interval.low, interval.high);
}

const FindingKind* kind_of(PromiseVerdict verdict) {
  switch (verdict) {
  case PromiseVerdict::kept:
    return &k_kept;
  case PromiseVerdict::smaller:
    return &k_smaller;
  case PromiseVerdict::no_gain:
    return &k_no_gain;
  case PromiseVerdict::slower:
    return &k_slower;
  case PromiseVerdict::undecided:
    return &k_undecided;
  case PromiseVerdict::too_few:
    return &k_too_few;
  case PromiseVerdict::fails:
    return &k_fails;
  }
  return nullptr;
}

// The numbers in "# key: 1.2 to 1.3" or "# key: 1.2x ..."; none if there is no such line.
std::vector<double> numbers_after(std::string_view text, std::string_view key) {
  std::vector<double> numbers;
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos || (at > 0 && text[at - 1] != '\n'))
    return numbers;
  std::string_view line = text.substr(at + key.size());
  line = line.substr(0, line.find('\n'));
  for (std::size_t i = 0; i < line.size();) {
    double value = 0;
    const auto [end, error] = std::from_chars(line.data() + i, line.data() + line.size(), value);
    if (error == std::errc{} && value > 0) {
      numbers.push_back(value);
      i = static_cast<std::size_t>(end - line.data());
    } else {
      ++i;
    }
  }
  return numbers;
}

const PromiseRun* failed_run(const Verification& all) {
  const auto found = std::ranges::find_if(
      all.runs, [](const PromiseRun& run) { return run.failed && run.with_settings; });
  return found == all.runs.end() ? nullptr : &*found;
}

// By pair: time without over time with the settings.
std::vector<double> speeds_of_pairs(const Verification& all) {
  std::map<int, std::pair<double, double>> pairs;
  for (const PromiseRun& run : all.runs)
    (run.with_settings ? pairs[run.pair].second : pairs[run.pair].first) = run.step_ns;
  std::vector<double> speeds;
  for (const auto& [pair, times] : pairs)
    if (times.first > 0 && times.second > 0)
      speeds.push_back(times.first / times.second);
  return speeds;
}

} // namespace

base::Result<Promise> promise_of(std::string_view settings_sh) {
  const std::vector<double> gain = numbers_after(settings_sh, "# gain: ");
  const std::vector<double> interval = numbers_after(settings_sh, "# interval: ");
  if (gain.size() != 1 || interval.size() != 2 || interval[0] > interval[1])
    return base::fail({base::Errc::invalid_argument,
                       "it names no gain with an interval in its first lines",
                       "give a folder that ncclprobe tune wrote, with a recommendation"});
  return Promise{gain[0], {interval[0], interval[1]}};
}

std::optional<RatioTest> speed_of(const Verification& all) {
  const std::vector<double> speeds = speeds_of_pairs(all);
  if (speeds.size() < static_cast<std::size_t>(k_least_pairs))
    return std::nullopt;
  return paired_ratio(speeds, k_confidence);
}

PromiseVerdict verdict_of(const Verification& all) {
  if (failed_run(all) != nullptr)
    return PromiseVerdict::fails;
  const auto speed = speed_of(all);
  if (!speed)
    return PromiseVerdict::too_few;
  const bool may_keep = speed->interval.high >= all.promise.interval.low;
  if (speed->interval.low > 1)
    return may_keep ? PromiseVerdict::kept : PromiseVerdict::smaller;
  if (speed->interval.high < 1)
    return PromiseVerdict::slower;
  return may_keep ? PromiseVerdict::undecided : PromiseVerdict::no_gain;
}

Report promise_report(const Verification& all) {
  const PromiseVerdict verdict = verdict_of(all);
  const auto speed = speed_of(all);
  Finding answer{kind_of(verdict),
                 {{"settings", all.settings},
                  {"promised", speed_text(all.promise.speed, all.promise.interval)},
                  {"speed", speed ? speed_text(speed->ratio, speed->interval) : ""},
                  {"pairs", speeds_of_pairs(all).size()},
                  {"needed", k_least_pairs},
                  {"problem", failed_run(all) != nullptr ? failed_run(all)->problem : ""}}};
  TableOf<PromiseRun> table(all.runs);
  table.add("pair", &PromiseRun::pair).titled("pair");
  table
      .add(
          "settings",
          [](const PromiseRun& run) { return std::string(run.with_settings ? "with" : "without"); })
      .titled("settings")
      .left();
  table.add("steps", &PromiseRun::steps).titled("steps", {Unit::grouped});
  table
      .add("step_ms",
           [](const PromiseRun& run) {
             return run.step_ns > 0 ? std::optional(six_digits(run.step_ns / 1e6)) : std::nullopt;
           })
      .titled("step, ms", {Unit::milliseconds});
  table.add("capture", &PromiseRun::folder).titled("capture").left(40);
  table.add("problem", &PromiseRun::problem).titled("problem").left(40).if_any();
  const TablePtr runs = table.table();
  Report report{.title = "Verify", .rows = runs};
  Section first{.key = "verdict", .part = Section::Part::answer};
  first.blocks.emplace_back(Findings{"Verdict", {std::move(answer)}, 12});
  report.sections.push_back(std::move(first));
  report.sections.push_back({.key = "runs",
                             .title = "Runs of the job, in their order (step: the median over "
                                      "ranks of their median steps)",
                             .blocks = {View{.table = runs}}});
  report.data = {
      {"schema", "ncclprobe.verify"},
      {"schema_version", 1},
      {"verdict", verdict},
      {"settings", all.settings},
      {"promised", six_digits(all.promise.speed)},
      {"promised_interval", interval_value(all.promise.interval)},
      {"speed", speed ? std::optional(six_digits(speed->ratio)) : std::nullopt},
      {"speed_interval", interval_value(speed ? std::optional(speed->interval) : std::nullopt)},
      {"runs", runs}};
  return report;
}

} // namespace ncclprobe::analysis
