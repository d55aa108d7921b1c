// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/why.h"
#include "analysis/results/cell_summary.h"
#include "analysis/verdict/size_class.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

// Each setting against the default, cell by cell. The unit of observation is one process's median
// time: iterations and batches of one process depend on each other, processes do not. Reasons:
// docs/method.md.
namespace ncclprobe::analysis {

inline constexpr double k_alpha = 0.01; // probability of any false verdict in a run
inline constexpr std::size_t k_least_processes = 5;
// A comparison that would have missed even a difference this large is too noisy for a verdict.
inline constexpr double k_largest_missed_ratio = 1.25;

// Why there is no verdict.
namespace undecided {
inline constexpr FindingKind k_too_noisy{
    "too_noisy", Severity::note,
    "too noisy for a verdict, which needs a difference of {percent:.0f}%"};
inline constexpr FindingKind k_too_few_processes{
    "too_few_processes", Severity::note,
    "{whose} has too few processes: {processes}, and {least} are needed"};
inline constexpr FindingKind k_too_few_pairs{
    "too_few_pairs", Severity::note,
    "too few processes measured both: {processes}, and {least} are needed"};
inline constexpr FindingKind k_no_noise_floor{
    "no_noise_floor", Severity::note,
    "the default does not have two arms, so the noise of the run is unknown"};
inline constexpr FindingKind k_no_noise_in_process{
    "no_noise_in_process", Severity::note,
    "no process measured the default twice, so its noise is unknown"};
inline constexpr FindingKind k_not_as_asked{"not_as_asked", Severity::warning, "{problem}"};
inline constexpr FindingKind k_default_not_as_asked{"default_not_as_asked", Severity::warning,
                                                    "of the default, {problem}"};

// `detectable`: the smallest ratio that would have been detected.
Finding too_noisy(double detectable);
Finding too_few_pairs(std::size_t processes);
} // namespace undecided

// Results that may be compared: equal in everything but the size.
bool same_family(const SettingResult& a, const SettingResult& b);

enum class Verdict { better, worse, no_difference, not_decided };

struct Comparison {
  const SettingResult* setting = nullptr;
  const SettingResult* baseline = nullptr; // the default in the same cell, both arms
  // Geometric mean of the default's process times / that of the setting's, which is also the ratio
  // of the bandwidths: above 1 means the setting is faster. Of pairs: that of their ratios.
  double speed_ratio = 1;
  // For an in-process setting: how many processes measured it and the default. These are compared
  // pair by pair (paired_ratios.h), against the A/A comparison within processes. 0: the processes
  // of the two sides are independent.
  std::size_t pairs = 0;
  // Welch's test with the scatter of these processes, then with the typical scatter of the size
  // class, and Student's with that of the cell (typical_scatter.h). Of pairs: Student's test of the
  // ratios with their own scatter, and with the typical ones (PairedScatter). Empty with fewer than
  // two processes on a side.
  std::vector<RatioTest> tests;
  std::optional<Interval> interval; // interval of the ratio: the widest of the tests
  std::optional<double> p;          // p-value: the largest of the tests
  std::optional<double> adjusted_p; // Holm, over all tested comparisons of the run
  std::optional<double> detectable; // the smallest ratio above 1 that would have had a verdict
  Verdict verdict = Verdict::not_decided;
  Why why_not_decided;
  bool too_noisy = false; // not decided because `detectable` is above k_largest_missed_ratio
  bool throttled = false; // a GPU ran slower than requested in some process of either side
};

// The default's two arms, equal in everything but when they ran, in one cell: the difference
// between two equal settings in this run.
struct ArmComparison {
  const SettingResult* result = nullptr;
  RatioTest test; // even replicates / odd replicates
};

// The difference between equal settings, over the cells of one size class.
struct NoiseFloor {
  double ratio = 1; // above 1; a difference must exceed it
  int cells = 0;
};
using NoiseFloors = std::array<std::optional<NoiseFloor>, k_size_classes>;
// With at least this many cells the floor is the 95th percentile of their A/A ratios, otherwise
// their largest.
inline constexpr int k_percentile_cells = 20;

struct Verdicts {
  std::vector<Comparison> comparisons; // in the order of the results
  std::vector<ArmComparison> arms;     // in the order of the results
  NoiseFloors floors;
  // The same within processes that measured the default twice, for in-process settings.
  std::vector<ArmComparison> paired_arms;
  NoiseFloors paired_floors;
  int tested = 0; // number of comparisons in Holm's correction
  double lowest_arms_p =
      1; // Holm-adjusted over the A/A cells; below k_alpha: the run is not steady

  // That of the comparison's size class.
  const std::optional<NoiseFloor>& floor_of(const Comparison& one) const;
  // Nothing for the default, and if there is nothing to compare with.
  const Comparison* of(const SettingResult& result) const;
};

// Points into `results`, which must outlive it. Omitted: the default itself, and comparisons in
// which one side has wrong data, no time or no counterpart.
Verdicts judge(const std::vector<SettingResult>& results);

// The floors of a run on its own: Verdicts::floors, or without a default, as in P2P runs, the
// difference between the even and the odd processes of each setting.
NoiseFloors noise_floors(const std::vector<SettingResult>& results);

// One setting over all its cells.
struct SettingVerdict {
  std::string setting;
  int better = 0;
  int worse = 0;
  int no_difference = 0;
  int not_decided = 0;
  int too_noisy = 0;     // of the undecided ones
  int wrong = 0;         // cells with wrong data
  Why withheld;          // why there is no verdict although there are enough processes
  double best_ratio = 1; // the largest of the better cells
  int cells() const { return better + worse + no_difference + not_decided + wrong; }
};
// By name.
std::vector<SettingVerdict> setting_verdicts(const std::vector<SettingResult>& results,
                                             const Verdicts& verdicts);

} // namespace ncclprobe::analysis
