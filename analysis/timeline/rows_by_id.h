// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/nccl_rows.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ncclprobe::analysis::timeline {

// NCCL's operations by their numbers. A trace counts them, so an array holds them, from the first
// one that was kept. Damaged traces, whose numbers are far apart, get a map.
class RowsById {
public:
  static constexpr std::uint32_t k_none = UINT32_MAX;

  explicit RowsById(std::span<const trace::NcclOperationRow> rows) {
    if (rows.empty())
      return;
    const auto [least, most] = std::ranges::minmax(rows, {}, &trace::NcclOperationRow::id);
    first_ = least.id;
    const std::uint64_t numbers = std::uint64_t{most.id} - first_ + 1;
    if (numbers <= 64 + 16 * std::uint64_t{rows.size()})
      rows_.resize(numbers, k_none);
    for (std::uint32_t i = 0; i < rows.size(); ++i)
      if (rows_.empty())
        far_apart_[rows[i].id] = i;
      else
        rows_[rows[i].id - first_] = i;
  }

  // k_none: no row has it. The last one of several.
  std::uint32_t find(std::uint32_t id) const {
    if (!far_apart_.empty()) {
      const auto found = far_apart_.find(id);
      return found == far_apart_.end() ? k_none : found->second;
    }
    return id >= first_ && id - first_ < rows_.size() ? rows_[id - first_] : k_none;
  }

private:
  std::uint32_t first_ = 0;
  std::vector<std::uint32_t> rows_; // by number - first_
  std::unordered_map<std::uint32_t, std::uint32_t> far_apart_;
};

} // namespace ncclprobe::analysis::timeline
