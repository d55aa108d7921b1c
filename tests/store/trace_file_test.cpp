// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/trace_convert.h"
#include "store/trace_file.h"
#include "support/catch.h"
#include "support/ddp_trace.h"
#include "support/scratch_folder.h"

#include <algorithm>

using namespace ncclprobe;
using trace::KernelRow;

namespace {

const store::TraceIdentity k_identity{7, "run-1", "kernels"};

store::TraceFile converted(const std::filesystem::path& spool) {
  auto target = std::filesystem::path(spool).replace_extension(".h5");
  base::value_or_throw(store::convert_spools({spool}, target, k_identity));
  return base::value_or_throw(store::TraceFile::open(target));
}

} // namespace

TEST_CASE("a spool becomes a trace file with every row, sorted, and texts under one numbering") {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 3, 70'000);

  store::TraceFile trace = converted(folder / "a.spool");

  std::vector<KernelRow> expected = support::ddp_kernels(70'000, 3);
  auto rows = trace.rows<KernelRow>(3);
  REQUIRE(rows);
  REQUIRE(rows->size() == expected.size());
  auto same = [&](const KernelRow& a, const KernelRow& b) {
    return a.start_ns == b.start_ns && a.duration_ns == b.duration_ns && a.grid == b.grid &&
           a.correlation == b.correlation && a.operation == b.operation && a.stream == b.stream &&
           a.block == b.block && a.shared_bytes == b.shared_bytes && a.flags == b.flags &&
           trace.text(a.name) == support::ddp_kernel_name(b.name.id);
  };
  REQUIRE(std::ranges::equal(*rows, expected, same));
  REQUIRE(trace.identity() == k_identity);
  REQUIRE(trace.ranks() == std::vector{3});
  REQUIRE(trace.origin(3).bytes_left_out == 0);
  REQUIRE(!trace.origin(3).host.empty());
  REQUIRE(trace.row_count(3, trace::Table::api) == 0);
  REQUIRE(trace.rows<trace::ApiRow>(3)->empty());
  REQUIRE(trace.first_ns(3) == expected.front().start_ns - 20'000);
  REQUIRE(support::names_in(folder.path()) == std::vector<std::string>{"a.h5", "a.spool"});
}

TEST_CASE("one column of a trace is read alone") {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 0, 70'000);
  store::TraceFile trace = converted(folder / "a.spool");

  auto starts = trace.column(0, &KernelRow::start_ns);
  auto streams = trace.column(0, &KernelRow::stream);

  std::vector<KernelRow> expected = support::ddp_kernels(70'000, 0);
  REQUIRE(starts);
  REQUIRE(std::ranges::equal(*starts, expected, {}, {}, &KernelRow::start_ns));
  REQUIRE(std::ranges::equal(*streams, expected, {}, {}, &KernelRow::stream));
}

TEST_CASE("a window of a trace holds what overlaps it, and nothing else") {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 0, 200'000);
  store::TraceFile trace = converted(folder / "a.spool");
  std::vector<KernelRow> all = support::ddp_kernels(200'000, 0);
  store::TraceWindow window{all[140'000].start_ns + 1, all[140'500].start_ns};

  auto rows = trace.rows<KernelRow>(0, window);

  std::erase_if(all, [&](const KernelRow& row) {
    return row.start_ns >= window.until_ns || row.start_ns + row.duration_ns <= window.from_ns;
  });
  REQUIRE(rows);
  REQUIRE(std::ranges::equal(*rows, all, {}, &KernelRow::start_ns, &KernelRow::start_ns));
}

TEST_CASE("a duration of more than 32 bits is found where it stands") {
  support::ScratchFolder folder;
  trace::SpoolWriter spool;
  REQUIRE(spool.open((folder / "a.spool").string()));
  spool.append(0, KernelRow{.start_ns = 1'000, .duration_ns = trace::k_long_duration});
  spool.append(0, KernelRow{.start_ns = 2'000, .duration_ns = 5});
  spool.append(0, trace::LongRow{1'000, 7'000'000'000, trace::Table::kernel});

  store::TraceFile trace = converted(folder / "a.spool");

  auto rows = trace.rows<KernelRow>(0, {6'000'000'000, UINT64_MAX});
  REQUIRE(rows->size() == 1);
  REQUIRE(trace.duration_ns(0, rows->front()) == 7'000'000'000);
  REQUIRE(trace.rows<KernelRow>(0, {8'000'000'000, UINT64_MAX})->empty());
  REQUIRE(trace.duration_ns(0, trace.rows<KernelRow>(0)->at(1)) == 5);
}

TEST_CASE("a spool of several ranks, and rows of none, end up with their ranks") {
  support::ScratchFolder folder;
  trace::SpoolWriter spool;
  REQUIRE(spool.open((folder / "a.spool").string()));
  spool.append(5, trace::SpanRow{.start_ns = 10, .end_ns = 20, .cell = 1});
  spool.append(4, trace::SpanRow{.start_ns = 12, .end_ns = 22, .cell = 2});
  spool.append(-1, trace::LossRow{.count = 3, .kind = trace::LossKind::own_queue});

  store::TraceFile trace = converted(folder / "a.spool");

  REQUIRE(trace.ranks() == std::vector{4, 5});
  REQUIRE(trace.rows<trace::SpanRow>(4)->at(0).cell == 2);
  REQUIRE(trace.rows<trace::SpanRow>(5)->at(0).cell == 1);
  REQUIRE(trace.rows<trace::LossRow>(4)->at(0).kind == trace::LossKind::own_queue);
}

TEST_CASE("parts of a trial become one trace with each text once") {
  support::ScratchFolder folder;
  std::vector<std::filesystem::path> parts;
  for (int rank : {2, 0, 1}) {
    auto spool = folder / fmt::format("{}.spool", rank);
    support::write_ddp_spool(spool, rank, 66'000);
    converted(spool);
    parts.push_back(folder / fmt::format("{}.h5", rank));
  }

  auto report = store::merge_traces(parts, folder / "whole.h5");

  REQUIRE(report);
  REQUIRE(report->ranks == 3);
  REQUIRE(report->remarks.empty());
  auto trace = store::TraceFile::open(folder / "whole.h5");
  REQUIRE(trace);
  REQUIRE(trace->ranks() == std::vector{0, 1, 2});
  for (int rank : trace->ranks()) {
    auto rows = trace->rows<KernelRow>(rank);
    auto expected = support::ddp_kernels(66'000, rank);
    REQUIRE(std::ranges::equal(*rows, expected, [&](const KernelRow& a, const KernelRow& b) {
      return a.start_ns == b.start_ns && a.grid == b.grid &&
             trace->text(a.name) == support::ddp_kernel_name(b.name.id);
    }));
    REQUIRE(trace->rows<trace::NcclOperationRow>(rank)->size() ==
            static_cast<std::size_t>(std::ranges::count(expected, 1, &KernelRow::flags)));
  }
  auto index_is_there = trace->rows<KernelRow>(1, {0, 1});
  REQUIRE(index_is_there->empty());
}

TEST_CASE("a rank that two parts have is taken from the earlier one") {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "new.spool", 1, 10);
  support::write_ddp_spool(folder / "old.spool", 1, 20);
  converted(folder / "new.spool");
  converted(folder / "old.spool");

  REQUIRE(store::merge_traces({folder / "new.h5", folder / "old.h5"}, folder / "old.h5"));

  REQUIRE(store::TraceFile::open(folder / "old.h5")->row_count(1, trace::Table::kernel) == 10);
}

TEST_CASE("traces of different trials are not merged") {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 0, 10);
  converted(folder / "a.spool");
  REQUIRE(store::convert_spools({folder / "a.spool"}, folder / "b.h5", {8, "run-1", "kernels"}));

  auto merged = store::merge_traces({folder / "a.h5", folder / "b.h5"}, folder / "c.h5");

  REQUIRE(!merged);
  REQUIRE(merged.error().code == base::Errc::mismatch);
}

TEST_CASE("a spool that was cut off is converted up to there, and the loss is stored and said") {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 0, 10'000);
  std::string bytes = *base::read_file(folder / "a.spool");
  REQUIRE(base::write_file_atomically(folder / "a.spool", bytes.substr(0, bytes.size() - 100)));

  auto report = store::convert_spools({folder / "a.spool"}, folder / "a.h5", k_identity);

  REQUIRE(report);
  REQUIRE(report->remarks.size() == 1);
  auto trace = store::TraceFile::open(folder / "a.h5");
  constexpr std::uint64_t k_last_block = 10'000 - 2 * 4'096;
  REQUIRE(trace->row_count(0, trace::Table::kernel) == 2 * 4'096);
  REQUIRE(trace->origin(0).bytes_left_out ==
          sizeof(trace::BlockHeader) + k_last_block * sizeof(KernelRow) - 100);
  REQUIRE(report->remarks[0] ==
          fmt::format("a.spool: its process ended before it finished the last block: {} bytes are "
                      "left out",
                      trace->origin(0).bytes_left_out));
}

TEST_CASE("a spool that is damaged in the middle is converted up to there") {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 0, 10'000);
  std::string bytes = *base::read_file(folder / "a.spool");
  std::size_t last = bytes.size() - (10'000 - 2 * 4'096) * sizeof(KernelRow);
  bytes[last - sizeof(trace::BlockHeader)] ^= 1;
  REQUIRE(base::write_file_atomically(folder / "a.spool", bytes));

  auto report = store::convert_spools({folder / "a.spool"}, folder / "a.h5", k_identity);

  REQUIRE(report);
  REQUIRE(report->remarks.size() == 1);
  auto trace = store::TraceFile::open(folder / "a.h5");
  REQUIRE(trace->row_count(0, trace::Table::kernel) == 2 * 4'096);
  REQUIRE(trace->origin(0).bytes_left_out == bytes.size() - last + sizeof(trace::BlockHeader));
}

TEST_CASE("what is no trace is refused with the file's name") {
  support::ScratchFolder folder;
  REQUIRE(base::write_file_atomically(folder / "text.h5", "hello, I am no HDF5 file"));

  auto absent = store::TraceFile::open(folder / "absent.h5");
  auto text = store::TraceFile::open(folder / "text.h5");
  auto no_spool = store::convert_spools({folder / "text.h5"}, folder / "t.h5", k_identity);

  REQUIRE(absent.error().code == base::Errc::not_found);
  REQUIRE(text.error().message == (folder / "text.h5").string() + " is not an HDF5 file");
  REQUIRE(no_spool.error().message == (folder / "text.h5").string() + " is not a trace spool");
  REQUIRE(support::names_in(folder.path()) == std::vector<std::string>{"text.h5"});
}
