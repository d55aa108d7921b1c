// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/compared_run.h"
#include "analysis/statistics/inference.h"
#include "analysis/verdict/verdict.h"

#include <optional>
#include <string>
#include <vector>

// Two sides, cell by cell. A side is one run, several runs of a baseline, or the runs of one of two
// commands that took turns. Reasons for the method: docs/method.md, "Comparing runs".
namespace ncclprobe::analysis::compare {

// What one value of a side is. Only values that are independent of each other tell how far equal
// sides differ.
enum class Basis {
  two_runs, // a process of the one run of that side: tells nothing about the scatter between runs
  baseline, // a run
  interleaved, // a run; the n-th of both sides are a pair
};

enum class CellVerdict { faster, slower, no_difference, not_decided, not_comparable };

// Why there is no verdict.
enum class Reason {
  none,
  // The cells cannot be compared.
  synthetic_against_real,
  other_ranks,
  other_type,
  other_size,
  other_operation, // of a reduction
  other_placement,
  other_timing,
  other_setting,
  not_measured, // by one of the sides
  wrong_data,
  no_times,
  not_as_asked, // other libraries or CPUs than the trial asked for
  // They can, but there is too little to decide from.
  one_process, // of a side: it has no scatter
  too_few_processes,
  too_few_runs,
  no_noise_floor, // the run has no A/A comparison
  too_noisy,
};

struct Request {
  // The smallest difference that matters, as a share: 0.05 is 5%.
  double difference = 0.05;
};

// Does a time differ?
struct Decision {
  // Geometric mean of a's times / that of b's, which is also the ratio of the bandwidths: above 1
  // means that b is faster.
  double speed_ratio = 1;
  std::vector<RatioTest> tests;     // none without scatter
  std::optional<Interval> interval; // of the ratio: the widest of the tests
  std::optional<double> p;          // the largest of the tests
  std::optional<double> adjusted_p; // Holm, over all cells; Bonferroni over the gates
  std::optional<double> detectable; // the smallest ratio above 1 that would have been found
  std::optional<double> floor;      // two_runs: the larger A/A floor of both runs, above 1
  CellVerdict verdict = CellVerdict::not_decided;
  Reason reason = Reason::none;
  // How many values each side needs until this is decided, for a difference of
  // Request::difference: processes of two_runs, runs of a baseline and new ones, pairs. Absent if
  // it is decided, if its scatter is unknown, and if more than k_most_repeats are needed.
  std::optional<int> repeats;
};
inline constexpr int k_most_repeats = 10'000;

struct CellComparison : Decision {
  CellKey key;
  bool wrong_in_a = false, wrong_in_b = false; // data of a run of that side
  std::optional<double> floor_a, floor_b; // two_runs: the A/A floors of both; `floor` is the larger
  // One value per process or run (Basis). Of runs the geometric mean of the times of its processes.
  std::vector<double> a_ns, b_ns;
  // Of runs, the median. Means and medians must agree: a single slow process moves the mean, and
  // where processes have two speeds, the median of a few jumps from one to the other.
  std::vector<double> a_medians_ns, b_medians_ns;
};

// What a comparison says as a whole. "regression" and "improvement" need the scatter between runs.
enum class Conclusion { differ, regression, improvement, no_difference, undecided, not_comparable };

struct RunComparison {
  Basis basis = Basis::two_runs;
  Request request;
  std::string a, b; // names of the sides
  int runs_a = 1, runs_b = 1;
  bool b_left_a = false; // a run of B was one of A, and does not count there
  bool synthetic_a = false, synthetic_b = false; // a run of that side
  std::vector<RunSource> sources;                // the runs of A, then those of B
  std::vector<Suspect> suspects;
  std::vector<CellComparison> cells; // by key; those of only one side too
  // Geometric mean over all comparable cells. Absent for two_runs, and without such cells.
  std::optional<Decision> overall;
  Conclusion conclusion = Conclusion::undecided;

  bool is_synthetic() const { return synthetic_a || synthetic_b; }
  int count(CellVerdict verdict) const;
  // Cells that are not decided although their own 95% interval lies wholly beyond
  // Request::difference; the largest change first. A mean over many cells can hide them.
  std::vector<const CellComparison*> beyond_the_difference() const;
  // How many values of each side would decide what is undecided (Decision::repeats).
  std::optional<int> repeats() const;
};

RunComparison compare_runs(const ComparedRun& a, const ComparedRun& b, const Request& request);

// With a baseline of three runs or more; fewer decide nothing. At least one run on each side.
inline constexpr std::size_t k_least_runs = 3;
RunComparison compare_with_baseline(std::string name, const std::vector<ComparedRun>& baseline,
                                    const std::vector<ComparedRun>& runs, const Request& request);

// As many runs on both sides: a[i] and b[i] ran one after the other. At least one pair.
RunComparison compare_pairs(std::string a_name, const std::vector<ComparedRun>& a,
                            std::string b_name, const std::vector<ComparedRun>& b,
                            const Request& request);

// The geometric mean over some cells of a comparison, which is one of so many means in question.
// Nothing for two_runs, and if none of the cells has values on both sides.
std::optional<Decision> mean_of(const RunComparison& comparison,
                                const std::vector<const CellComparison*>& cells, std::size_t means,
                                const Request& request);

} // namespace ncclprobe::analysis::compare
