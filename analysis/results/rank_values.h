// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace ncclprobe::analysis {

// A value for some ranks, in eight bytes per rank if these are 0, 1, 2, ...: a large run has a
// hundred thousand such lists.
class RankValues {
public:
  RankValues() = default;
  RankValues(std::initializer_list<std::pair<int, double>> values) {
    for (const auto& [rank, value] : values)
      add(rank, value);
  }

  void reserve(std::size_t ranks) { values_.reserve(ranks); }
  // Ranks must be added in ascending order.
  void add(int rank, double value) {
    if (ranks_.empty() && rank != std::ssize(values_))
      for (std::size_t i = 0; i < values_.size(); ++i)
        ranks_.push_back(static_cast<int>(i));
    if (!ranks_.empty() || rank != std::ssize(values_))
      ranks_.push_back(rank);
    values_.push_back(value);
  }

  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  int rank(std::size_t i) const { return ranks_.empty() ? static_cast<int>(i) : ranks_[i]; }
  double value(std::size_t i) const { return values_[i]; }
  bool operator==(const RankValues&) const = default;

private:
  std::vector<int> ranks_; // empty: 0, 1, 2, ...
  std::vector<double> values_;
};

} // namespace ncclprobe::analysis
