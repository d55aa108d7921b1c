// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ncclprobe::analysis::timeline {

// Every k-th of many values, k a power of two that grows to keep at most `most`.
class Thinned {
public:
  explicit Thinned(std::size_t most = 512) : most_(most) {}

  void add(double value) {
    if (seen_++ % every_ != 0)
      return;
    values_.push_back(value);
    if (values_.size() < most_)
      return;
    for (std::size_t i = 0; i < values_.size() / 2; ++i)
      values_[i] = values_[2 * i];
    values_.resize(values_.size() / 2);
    every_ *= 2;
  }
  void add(const Thinned& other) {
    std::uint64_t seen = seen_ + other.seen_;
    for (double value : other.values_)
      add(value);
    seen_ = seen;
  }
  const std::vector<double>& values() const { return values_; }
  std::uint64_t seen() const { return seen_; }

private:
  std::size_t most_;
  std::uint64_t seen_ = 0;
  std::uint64_t every_ = 1;
  std::vector<double> values_;
};

} // namespace ncclprobe::analysis::timeline
