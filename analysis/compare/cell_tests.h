// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/comparison.h"

// The statistics of one comparison (comparison.h).
namespace ncclprobe::analysis::compare {

// Sets the ratios, tests, intervals and p-values of all cells that have values on both sides. The
// scatter of other cells and settings counts too: a cell may have two speeds, which a few values
// may not show (typical_scatter.h). `other_a`, `other_b`: for two_runs, all cells of the runs.
void test_cells(std::vector<CellComparison>& cells, Basis basis,
                const std::vector<RunCell>& other_a, const std::vector<RunCell>& other_b);

// Widest interval and largest p-value of the tests.
void take_most_careful(Decision& one);

// Adds the test of the values alone, if they scatter.
void add_own_test(Decision& one, Basis basis, const std::vector<double>& a_ns,
                  const std::vector<double>& b_ns);

// The probability of any false verdict among the cells, and again on means of cells: together they
// have k_alpha. Two runs have no means.
double alpha_of(Basis basis);

// Decides what has tests and an adjusted p-value. `comparisons`: how many that is corrected for.
void decide(Decision& one, Basis basis, std::size_t values_a, std::size_t values_b,
            std::size_t comparisons, const Request& request);

// Decision::repeats of what has tests.
std::optional<int> repeats_needed(const Decision& one, Basis basis, std::size_t values_a,
                                  std::size_t values_b, std::size_t comparisons,
                                  const Request& request);

} // namespace ncclprobe::analysis::compare
