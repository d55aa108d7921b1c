// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

namespace ncclprobe::model {

// One value for all ranks, with exceptions for some. Small for any number of ranks.
template <typename T>
struct PerRank {
  T common{};
  std::map<int, T> exceptions{}; // by rank

  PerRank() = default;
  PerRank(T value) : common(std::move(value)) {}

  const T& at(int rank) const {
    auto found = exceptions.find(rank);
    return found == exceptions.end() ? common : found->second;
  }
  bool operator==(const PerRank&) const = default;
};

} // namespace ncclprobe::model
