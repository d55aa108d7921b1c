// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/cell_summary.h"
#include "analysis/verdict/size_class.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

// Each setting against the default, cell by cell. The unit of observation is one process's median
// time: iterations and batches of one process are not independent of each other, processes are.
// Why it is done this way: docs/method.md.
namespace ncclprobe::analysis {

inline constexpr double k_alpha = 0.01; // chance of any false verdict in a run
inline constexpr std::size_t k_least_processes = 5;
// A comparison that would have missed even a difference as large as this is too noisy to tell.
inline constexpr double k_largest_missed_ratio = 1.25;
// Why such a comparison is not decided. `detectable`: the smallest ratio that it would have seen.
std::string too_noisy_text(double detectable);

// Results that may be laid beside each other: everything equal but the size.
bool same_family(const SettingResult& a, const SettingResult& b);

enum class Verdict { better, worse, no_difference, not_decided };
constexpr auto enum_names(Verdict) {
  return std::to_array<std::pair<Verdict, std::string_view>>(
      {{Verdict::better, "better"},
       {Verdict::worse, "worse"},
       {Verdict::no_difference, "no_difference"},
       {Verdict::not_decided, "not_decided"}});
}

struct Comparison {
  const SettingResult* setting = nullptr;
  const SettingResult* baseline = nullptr; // the default in the same cell, both arms
  // Geometric mean of the default's process times / that of the setting's, which is also the ratio
  // of the bandwidths: above 1 means the setting is faster.
  double speed_ratio = 1;
  // Welch's test with the scatter of these processes, then with the typical scatter of the size
  // class, and Student's with that of the cell (typical_scatter.h). Empty with fewer than two
  // processes on a side.
  std::vector<RatioTest> tests;
  std::optional<Interval> interval; // of the ratio: the widest of the tests'
  std::optional<double> p;          // the largest of the tests'
  std::optional<double> adjusted_p; // Holm, over all comparisons of the run that were tested
  std::optional<double> detectable; // the smallest ratio above 1 that would have had a verdict
  Verdict verdict = Verdict::not_decided;
  std::string why_not_decided;
  bool too_noisy = false; // not decided because `detectable` is above k_largest_missed_ratio
  bool throttled = false; // a GPU ran slower than asked for in some process of either side
};

// The default's two arms, equal in all but the hour, in one cell: what two equal settings differ by
// in this run.
struct ArmComparison {
  const SettingResult* result = nullptr;
  RatioTest test; // even replicates / odd replicates
};

// How far equal settings lay apart, over the cells of one size class.
struct NoiseFloor {
  double ratio = 1; // above 1; a difference must exceed it
  int cells = 0;
};
// From this many cells on the floor is the 95th percentile of their A/A ratios, below their
// largest.
inline constexpr int k_percentile_cells = 20;

struct Verdicts {
  std::vector<Comparison> comparisons; // in the order of the results
  std::vector<ArmComparison> arms;     // likewise
  std::array<std::optional<NoiseFloor>, k_size_classes> floors;
  int tested = 0;      // how many comparisons Holm's correction was over
  int arms_differ = 0; // A/A cells whose own 95% interval excludes 1; 5% do by chance
  double lowest_arms_p =
      1; // Holm-adjusted over the A/A cells; below k_alpha: the run is not steady

  // Nothing for the default and where there is nothing to compare with.
  const Comparison* of(const SettingResult& result) const;
};

// Points into `results`, which must stay. Left out: the default itself, and where one of the two
// has wrong data, no time or no counterpart.
Verdicts judge(const std::vector<SettingResult>& results);

// One setting over all its cells.
struct SettingVerdict {
  std::string setting;
  int better = 0;
  int worse = 0;
  int no_difference = 0;
  int not_decided = 0;
  int too_noisy = 0;     // of those not decided
  int wrong = 0;         // cells with wrong data
  std::string withheld;  // why there is no verdict although there are processes enough
  double best_ratio = 1; // the largest of the better cells
  int cells() const { return better + worse + no_difference + not_decided + wrong; }
};
// By name.
std::vector<SettingVerdict> setting_verdicts(const std::vector<SettingResult>& results,
                                             const Verdicts& verdicts);

} // namespace ncclprobe::analysis
