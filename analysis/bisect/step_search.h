// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

// Which of many versions is the first that is slower, or fails.
namespace ncclprobe::analysis {

enum class StepAnswer { open, same, slower, failed };

struct StepComparison { // of one version with the first one
  std::size_t version = 0;
  std::vector<double> ratios;           // of each pair: time / time of the first version
  StepAnswer answer = StepAnswer::open; // open: as many pairs as allowed did not decide
};

// A binary search of fresh comparisons with the first version. Each comparison takes pairs until
// Wald's sequential probability ratio test decides between "no change" and "as slow as the last
// version" (A. Wald, Sequential Analysis, 1947), with an error of 0.5% either way. The scatter is
// estimated from all pairs so far.
class StepSearch {
public:
  // `versions`: 2 or more. `least`: the smallest slowdown of the last version that matters, 0.02.
  StepSearch(std::size_t versions, double least);

  // The version of which more pairs are needed, and how many; nothing: the search has ended. The
  // first pair of a version comes alone: if the version hangs, that costs one time limit.
  std::optional<std::size_t> next() const;
  std::size_t pairs() const;
  // What was measured of next(): at least one pair, ratios above zero.
  void add(const std::vector<double>& ratios);
  void add_failure();

  // Of the search that has ended: the first version that is slower or fails; nothing: the last
  // version does not differ from the first, or the pairs did not decide.
  std::optional<std::size_t> first_bad() const;
  // The last version known to be good, and the first known to be slower or to fail. Nothing: none
  // is.
  std::optional<std::pair<std::size_t, std::size_t>> narrowed_to() const;
  const std::vector<StepComparison>& comparisons() const { return comparisons_; }

private:
  std::size_t least_pairs() const; // for an answer
  StepAnswer decide(const StepComparison& comparison) const;
  double variance() const; // of the logarithm of a ratio
  void close(StepAnswer answer);

  double least_;                       // as a logarithm
  std::optional<double> step_;         // of the last version, as a logarithm
  std::size_t good_ = 0, bad_;         // the first bad one lies after good_, and is bad_ or before
  bool ended_ = false, found_ = false; // bad_ is known to be bad
  std::vector<StepComparison> comparisons_;
};

} // namespace ncclprobe::analysis
