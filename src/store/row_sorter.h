// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/scratch_file.h"
#include "store/sort_order.h"
#include "store/trace_format.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <queue>
#include <span>
#include <vector>

namespace ncclprobe::store {

template <trace::Timed Row>
std::uint64_t sort_key(const Row& row) {
  return begin_ns(row);
}
template <typename Row>
concept Keyed = requires(const Row& row) {
  sort_key(row);
};

// Sorts rows by key, those of traces by begin, and keeps the order of equal ones. Rows without a
// key keep their order. Works in memory up to a number of rows, then with a scratch file.
template <typename Row>
class RowSorter {
public:
  // For about `rows` rows. The scratch file has no name; `folder` needs room for it.
  explicit RowSorter(std::filesystem::path folder, std::uint64_t rows = 0,
                     std::size_t rows_in_memory = 1 << 21)
      : scratch_(std::move(folder)), rows_in_memory_(rows_in_memory) {
    rows_.reserve(std::min<std::uint64_t>(rows, rows_in_memory_));
  }

  std::uint64_t size() const { return spilled_ + rows_.size(); }

  void add(std::span<const Row> rows) {
    while (!rows.empty()) {
      auto some = rows.first(std::min(rows.size(), rows_in_memory_ - rows_.size()));
      rows_.insert(rows_.end(), some.begin(), some.end());
      rows = rows.subspan(some.size());
      if (rows_.size() == rows_in_memory_ && !rows.empty())
        spill();
    }
  }

  // Calls take(rows) for all rows in order, `count` at a time, the last time fewer. Call it once.
  template <typename Take>
  void drain(std::size_t count, Take take) {
    if (runs_.empty())
      return in_order([&](std::span<const Row> rows) { take(rows); }, count);
    spill();
    merge(count, take);
  }

private:
  // While runs are merged, each has a buffer of its own. Together these take no more memory than
  // one run did. Few runs get the share that each would have of so many.
  static constexpr std::size_t k_buffers = 128;

  struct Run {
    std::uint64_t first_row, rows; // in the scratch file
    std::vector<Row> buffer;
    std::size_t at = 0;
  };
  struct Head {
    std::uint64_t key;
    std::size_t run;
    bool operator>(const Head& other) const {
      return std::pair(key, run) > std::pair(other.key, other.run);
    }
  };

  template <typename Take>
  void in_order(Take take, std::size_t count) {
    std::vector<std::uint32_t> order;
    if constexpr (Keyed<Row>) {
      std::vector<std::uint64_t> keys(rows_.size());
      std::ranges::transform(rows_, keys.begin(), [](const Row& row) { return sort_key(row); });
      order = sort_order(keys);
    }
    std::vector<Row> sorted;
    for (std::size_t first = 0; first < rows_.size(); first += count) {
      std::size_t some = std::min(count, rows_.size() - first);
      if (order.empty()) {
        take(std::span<const Row>(rows_).subspan(first, some));
        continue;
      }
      sorted.resize(some);
      for (std::size_t i = 0; i < some; ++i)
        sorted[i] = rows_[order[first + i]];
      take(std::span<const Row>(sorted));
    }
    rows_ = {};
  }

  void spill() {
    runs_.push_back({spilled_, rows_.size(), {}});
    spilled_ += rows_.size();
    in_order([&](std::span<const Row> rows) { scratch_.append(std::as_bytes(rows)); }, 65'536);
    rows_.reserve(rows_in_memory_);
  }

  // False at the end of the run.
  bool refill(Run& run) {
    std::size_t some =
        std::min<std::uint64_t>(run.rows, rows_in_memory_ / std::max(k_buffers, runs_.size()) + 1);
    run.buffer.resize(some);
    run.at = 0;
    scratch_.read(run.first_row * sizeof(Row), std::as_writable_bytes(std::span(run.buffer)));
    run.first_row += some;
    run.rows -= some;
    return some > 0;
  }

  template <typename Take>
  void merge(std::size_t count, Take take) {
    rows_ = {};
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    auto push = [&](std::size_t i) {
      Run& run = runs_[i];
      if (run.at < run.buffer.size() || refill(run))
        heads.push({key_of(run.buffer[run.at]), i});
    };
    for (std::size_t i = 0; i < runs_.size(); ++i)
      push(i);
    std::vector<Row> merged;
    while (!heads.empty()) {
      std::size_t i = heads.top().run;
      heads.pop();
      merged.push_back(runs_[i].buffer[runs_[i].at++]);
      push(i);
      if (merged.size() == count || heads.empty()) {
        take(std::span<const Row>(merged));
        merged.clear();
      }
    }
  }

  static std::uint64_t key_of(const Row& row) {
    if constexpr (Keyed<Row>)
      return sort_key(row);
    else
      return 0; // the runs one after the other
  }

  ScratchFile scratch_;
  std::size_t rows_in_memory_;
  std::vector<Row> rows_;
  std::vector<Run> runs_;
  std::uint64_t spilled_ = 0;
};

} // namespace ncclprobe::store
