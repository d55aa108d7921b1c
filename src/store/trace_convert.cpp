// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_convert.h"

#include "store/row_sorter.h"
#include "store/spool_set.h"
#include "store/trace_making.h"
#include "store/trace_writer.h"

namespace ncclprobe::store {
namespace {

namespace fs = std::filesystem;

template <typename Row>
std::uint64_t convert_table(const SpoolSet& spools, int rank, const fs::path& folder,
                            TraceWriter& writer, const Hdf5Group& group) {
  const std::uint64_t rows = spools.rows(rank, Row::k_table);
  if (rows == 0)
    return 0;
  RowSorter<Row> sorter(folder, rows);
  spools.for_each_block<Row>(rank, [&](std::span<const Row> some) { sorter.add(some); });
  writer.add_table<Row>(group, rank, rows,
                        [&](std::size_t count, auto take) { sorter.drain(count, take); });
  return rows;
}

// `folder`: for scratch files.
Result<TraceReport> convert_here(const std::vector<fs::path>& paths, const fs::path& file,
                                 const fs::path& folder, const TraceIdentity& identity) {
  TraceReport report;
  SpoolSet spools;
  Error trouble;
  std::size_t readable = 0;
  for (const fs::path& path : paths) {
    if (auto added = spools.add(path, report.remarks)) {
      ++readable;
    } else {
      trouble = added.error();
      report.remarks.push_back(trouble.text());
    }
  }
  if (readable == 0)
    return fail(trouble);
  TraceWriter writer(file, identity);
  for (int rank : spools.ranks()) {
    Hdf5Group group = writer.add_rank(rank, spools.origin(rank));
    std::apply(
        [&](auto... row) {
          ((report.rows += convert_table<decltype(row)>(spools, rank, folder, writer, group)), ...);
        },
        trace::AllRows{});
    group.close("rank");
    spools.release(rank);
    ++report.ranks;
  }
  writer.finish(spools.strings());
  return report;
}

} // namespace

Result<TraceReport> convert_spools(const std::vector<fs::path>& spools, const fs::path& target,
                                   const TraceIdentity& identity,
                                   const std::function<void()>& meanwhile) {
  if (spools.empty())
    return fail(Errc::not_found, "there are no spools for {}", target.string());
  const fs::path folder = target.parent_path().empty() ? "." : target.parent_path();
  return make_trace_file(
      target, folder,
      [&](const fs::path& file) { return convert_here(spools, file, folder, identity); },
      meanwhile);
}

} // namespace ncclprobe::store
