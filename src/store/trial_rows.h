// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"
#include "store/row_sorter.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace ncclprobe::store {

// The samples, conditions and marks of a trial's cells, where they are too many for memory: they go
// to scratch files, and come back in the order that model::CellRecord states.
class TrialRows {
public:
  // `folder` needs room for them.
  explicit TrialRows(const std::filesystem::path& folder);

  // Takes the rows of a cell, which then has none; those of a rank in their order. Throws
  // Exception: io; invalid_argument (there cannot be so many cells).
  void add(int cell, model::CellRecord& record);

  // The rows of these cells are not wanted.
  void leave_out(std::set<int> cells) { left_out_ = std::move(cells); }

  // Calls take(cell, some of its rows) for all rows in order; once for each type. Throws Exception
  // (io).
  template <typename T, typename Take>
  void drain(Take take) {
    std::vector<T> rows;
    sorter_of<T>().drain(k_rows_at_once, [&](std::span<const Placed<T>> some) {
      for (std::size_t i = 0; i < some.size(); ++i) {
        rows.push_back(some[i].row);
        const bool last = i + 1 == some.size() || some[i + 1].cell() != some[i].cell();
        if (last && !left_out_.contains(some[i].cell()))
          take(some[i].cell(), std::span<const T>(rows));
        if (last)
          rows.clear();
      }
    });
  }

private:
  static constexpr std::size_t k_rows_in_memory = 1 << 17;
  static constexpr std::size_t k_rows_at_once = 1 << 14;

  // A row, its cell and its place in that cell.
  template <typename T>
  struct Placed {
    std::uint64_t key = 0;
    T row;
    int cell() const { return static_cast<int>(key >> k_place_bits); }
    friend std::uint64_t sort_key(const Placed& placed) { return placed.key; }
  };
  static constexpr unsigned k_rank_bits = 20;
  static constexpr unsigned k_place_bits = 40;

  template <typename T>
  RowSorter<Placed<T>>& sorter_of() {
    return std::get<RowSorter<Placed<T>>>(sorters_);
  }
  template <typename T, typename Place>
  void take(int cell, std::vector<T>& rows, Place place);

  std::tuple<RowSorter<Placed<model::Sample>>, RowSorter<Placed<model::Condition>>,
             RowSorter<Placed<model::Mark>>>
      sorters_;
  std::set<int> left_out_;
};

} // namespace ncclprobe::store
