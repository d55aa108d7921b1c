// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/row_sorter.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <random>

using namespace ncclprobe;
using trace::KernelRow;

namespace {

// `correlation` counts, so that it shows where a row was.
std::vector<KernelRow> rows_of(const std::vector<std::uint64_t>& starts) {
  std::vector<KernelRow> rows;
  for (std::uint64_t start : starts)
    rows.push_back({.start_ns = start, .correlation = static_cast<std::uint32_t>(rows.size())});
  return rows;
}

template <typename Row>
std::vector<Row> drained(store::RowSorter<Row>& sorter, std::size_t count) {
  std::vector<Row> all;
  sorter.drain(count, [&](std::span<const Row> some) {
    REQUIRE(!some.empty());
    REQUIRE(all.size() % count == 0);
    REQUIRE(some.size() <= count);
    all.insert(all.end(), some.begin(), some.end());
  });
  return all;
}

bool sorted_and_stable(const std::vector<KernelRow>& rows) {
  return std::ranges::is_sorted(
      rows, {}, [](const KernelRow& row) { return std::pair(row.start_ns, row.correlation); });
}

} // namespace

TEST_CASE("rows are sorted by their begin, equal ones as they came") {
  support::ScratchFolder folder;
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> starts;
  for (int i = 0; i < 10'000; ++i)
    starts.push_back(std::uint64_t{1} << 60 | random() % 3'000 << (i % 2 == 0 ? 0 : 30));
  store::RowSorter<KernelRow> sorter(folder.path());
  sorter.add(rows_of(starts));

  auto sorted = drained(sorter, 999);

  REQUIRE(sorted.size() == starts.size());
  REQUIRE(sorted_and_stable(sorted));
}

TEST_CASE("more rows than fit are sorted with a scratch file, which leaves nothing behind") {
  support::ScratchFolder folder;
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> starts;
  for (int i = 0; i < 100'000; ++i)
    starts.push_back(random() % 50'000);
  store::RowSorter<KernelRow> sorter(folder.path(), 100'000, 30'000);
  std::vector<KernelRow> rows = rows_of(starts);
  for (std::size_t first = 0; first < rows.size(); first += 7'000)
    sorter.add(std::span<const KernelRow>(rows).subspan(
        first, std::min<std::size_t>(7'000, rows.size() - first)));

  REQUIRE(sorter.size() == 100'000);
  auto sorted = drained(sorter, 4'096);

  REQUIRE(sorted.size() == starts.size());
  REQUIRE(sorted_and_stable(sorted));
  REQUIRE(support::names_in(folder.path()).empty());
}

TEST_CASE("rows of a table without times keep their order, also through a scratch file") {
  support::ScratchFolder folder;
  store::RowSorter<trace::StreamRow> sorter(folder.path(), 0, 4);
  std::vector<trace::StreamRow> rows;
  for (std::uint16_t id : {9, 2, 7, 1, 8, 3, 6, 0, 5, 4})
    rows.push_back({.id = id});
  sorter.add(rows);

  auto kept = drained(sorter, 3);

  REQUIRE(std::ranges::equal(kept, rows, {}, &trace::StreamRow::id, &trace::StreamRow::id));
}
