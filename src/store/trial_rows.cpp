// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trial_rows.h"

#include "base/error.h"

namespace ncclprobe::store {
namespace {

constexpr int k_most_cells = 1 << 24;

} // namespace

TrialRows::TrialRows(const std::filesystem::path& folder)
    : sorters_(RowSorter<Placed<model::Sample>>(folder, 0, k_rows_in_memory),
               RowSorter<Placed<model::Condition>>(folder, 0, k_rows_in_memory),
               RowSorter<Placed<model::Mark>>(folder, 0, k_rows_in_memory)) {}

// place(row): by what rows of a cell are ordered before their rank.
template <typename T, typename Place>
void TrialRows::take(int cell, std::vector<T>& rows, Place place) {
  if (cell < 0 || cell >= k_most_cells)
    raise(Errc::invalid_argument, "a trial has no more than {} cells", k_most_cells);
  constexpr std::uint64_t k_most_of_each = (std::uint64_t{1} << k_rank_bits) - 1;
  std::vector<Placed<T>> placed;
  placed.reserve(rows.size());
  for (const T& row : rows)
    placed.push_back({static_cast<std::uint64_t>(cell) << k_place_bits |
                          (static_cast<std::uint64_t>(place(row)) & k_most_of_each) << k_rank_bits |
                          (static_cast<std::uint64_t>(row.rank) & k_most_of_each),
                      row});
  sorter_of<T>().add(placed);
  rows = std::vector<T>(); // not "= {}", which keeps the memory
}

void TrialRows::add(int cell, model::CellRecord& record) {
  take(cell, record.samples, [](const model::Sample& one) { return one.batch; });
  take(cell, record.conditions, [](const model::Condition&) { return 0; });
  take(cell, record.marks, [](const model::Mark&) { return 0; });
}

} // namespace ncclprobe::store
