// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/import_logs.h"
#include "analysis/imports/nccl_tests_text.h"
#include "support/catch.h"

namespace ncclprobe::analysis::imports {
namespace {

using model::Collective;

ImportedProcesses read_log(const std::string& text, const ImportHints& hints = {}) {
  return base::value_or_throw(read_nccl_tests_text(text, hints));
}
Errc error_of_log(const std::string& text, const ImportHints& hints = {}) {
  const auto result = read_nccl_tests_text(text, hints);
  return result ? Errc::timed_out : result.error().code;
}

const model::CollectiveLabel& collective_of(const ImportedCell& cell) {
  return *cell.label.collective();
}

// The format of 2.13 to 2.16: the lines of https://github.com/NVIDIA/nccl-tests/issues/183.
constexpr const char* k_2_13 =
    R"(# nThread 1 nGpus 2 minBytes 8 maxBytes 268435456 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   5950 on     ai-n66 device  0 [0x34] NVIDIA H800
#  Rank  1 Group  0 Pid   5950 on     ai-n66 device  1 [0x48] NVIDIA H800
NCCL version 2.19.4+cuda12.2
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
           8             2     float    none       0    144.3    0.00    0.00      0    21.60    0.00    0.00      0
   268435456      67108864     float    none       0   1640.2  163.66  163.66      0   1638.9  163.79  163.79      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 48.9121 
#
)";

// The format of 2.4 to 2.12 (2019): src/common.cu and src/broadcast.cu at cbe7f65. A table of a
// collective without reduction lacks the column, and "error" is the largest difference.
constexpr const char* k_2_4 =
    R"(# nThread 1 nGpus 4 minBytes 1048576 maxBytes 1048576 step: 1048576(bytes) warmup iters: 5 iters: 20 validation: 1 
#
# Using devices
#   Rank  0 Pid  30011 on      dgx-1 device  0 [0x06] Tesla V100-SXM2-16GB
#   Rank  1 Pid  30011 on      dgx-1 device  1 [0x07] Tesla V100-SXM2-16GB
#   Rank  2 Pid  30011 on      dgx-1 device  2 [0x0a] Tesla V100-SXM2-16GB
#   Rank  3 Pid  30011 on      dgx-1 device  3 [0x0b] Tesla V100-SXM2-16GB
#
#                                             out-of-place                       in-place          
#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
     1048576        262144   float       2    33.10   31.68   31.68  0e+00    32.55   32.21   32.21  1e-07
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 31.945 
#
)";

} // namespace

TEST_CASE("a log of nccl-tests gives its machine and a cell for each size and placement") {
  const ImportedProcesses all = read_log(import_log("all_reduce_2.19.6.log"));

  REQUIRE(all.size() == 1);
  const ImportedProcess& one = all.front();
  CHECK(one.version == "2.19.6");
  REQUIRE(one.ranks.size() == 2);
  CHECK(one.ranks[1].rank == 1);
  CHECK(one.ranks[1].hostname == "h200-1");
  CHECK(one.ranks[1].device == 1);
  CHECK(one.ranks[1].gpu == "NVIDIA H200");
  CHECK(one.ranks[1].pci_bus_id == "0000:3b:00.0");
  REQUIRE(one.libraries.size() == 1);
  CHECK(one.libraries[0].version == "2.28.3");
  CHECK(one.remarks.empty());
  CHECK(one.outcome.ok());
  REQUIRE(one.cells.size() == 26);
  const ImportedCell& cell = cell_of(one, 134217728, model::Placement::in_place);
  CHECK(collective_of(cell).collective == Collective::all_reduce);
  CHECK(cell.label.type == model::DataType::f32);
  CHECK(cell.label.op == model::ReduceOp::sum);
  REQUIRE(cell.record.samples.size() == 1);
  CHECK(cell.record.samples[0].iterations == 20);
  CHECK(cell.record.samples[0].elapsed_ns == 20 * 504'870);
  CHECK(cell.record.check.checked);
  CHECK(cell.record.check.elements == 2 * 33554432);
  CHECK(cell.timing.warmups == 1);
}

TEST_CASE("older formats are read by the names of their columns") {
  const ImportedProcesses broadcast = read_log(k_2_13);
  REQUIRE(broadcast.size() == 1);
  const ImportedCell& one = cell_of(broadcast[0], 268435456);
  CHECK(collective_of(one).collective == Collective::broadcast);
  CHECK(one.label.root == 0);
  CHECK(time_ns_of(one) == 1'640'200);
  CHECK(broadcast[0].libraries.at(0).version == "2.19.4");
  CHECK(broadcast[0].ranks.at(1).pci_bus_id == "0000:48:00.0");

  const ImportedProcesses old = read_log(k_2_4);
  REQUIRE(old.size() == 1);
  REQUIRE(old[0].ranks.size() == 4);
  CHECK(collective_of(old[0].cells.at(0)).collective == Collective::broadcast);
  CHECK(old[0].cells[0].label.root == 2);
  CHECK(old[0].cells[0].record.check.checked);
  // A difference above zero is not yet a wrong element.
  CHECK_FALSE(old[0].cells.at(1).record.check.checked);
  CHECK(old[0].cells[1].record.outcome.ok());
}

TEST_CASE("columns for single iterations and times of day are skipped, and wrong data is kept") {
  const ImportedProcess one = read_log(import_log("wrong_data_per_iteration_2.19.6.log")).front();

  CHECK(one.cells.size() == 26);
  CHECK(time_ns_of(cell_of(one, 134217728, model::Placement::in_place)) == 504'870);
  const ImportedCell& wrong = cell_of(one, 512, model::Placement::in_place);
  CHECK(wrong.record.check.wrong == 12);
  CHECK(wrong.record.outcome.kind == model::OutcomeKind::wrong_data);
  CHECK(cell_of(one, 512).record.outcome.ok());
}

TEST_CASE("cycles are batches of one cell, and a graph is a kind of launch") {
  const ImportedProcess one = read_log(import_log("cycles_graph_2.19.6.log")).front();

  const ImportedCell& cell = cell_of(one, 8);
  CHECK(collective_of(cell).launch == model::Launch::graph);
  REQUIRE(cell.record.samples.size() == 3);
  CHECK(cell.record.samples[2].batch == 2);
  CHECK(cell.record.samples[2].iterations == 20 * 5);
  CHECK(cell.timing.batches == 3);
  CHECK(time_ns_of(cell, 2) == Approx(12'490));
}

TEST_CASE("data that nccl-tests did not check is unchecked") {
  const ImportedProcess one = read_log(import_log("all_gather_unchecked_2.19.6.log")).front();

  const ImportedCell& cell = cell_of(one, 134217728);
  CHECK(collective_of(cell).collective == Collective::all_gather);
  CHECK_FALSE(cell.record.check.checked);
  CHECK_FALSE(cell.record.check.why_unchecked.empty());
}

TEST_CASE("prefixes of launchers, carriage returns and NCCL's lines between rows do not matter") {
  const std::string log = import_log("all_reduce_2.19.6.log");
  const ImportedProcess plain = read_log(log).front();
  for (const std::string prefix : {"[1,0]<stdout>:", "0: ", " 3: ", "[0] ",
                                   "2026-05-01T12:34:56.789Z ", "\033[32m[1,0]<stdout>:\033[0m"}) {
    INFO(prefix);
    std::string text;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      text += prefix + line + "\r\n";
      text += "[1,1]<stdout>:h200-1:7:9 [1] NCCL INFO 12 coll channels, 16 p2p channels\r\n";
    }

    const ImportedProcess one = read_log(text).front();

    CHECK(one.cells.size() == plain.cells.size());
    CHECK(one.ranks.size() == 2);
    CHECK(one.cells.at(25).record == plain.cells.at(25).record);
    CHECK(one.remarks.empty());
  }
}

TEST_CASE("each launch in a log is a process") {
  const std::string log = import_log("all_reduce_2.19.6.log");

  const ImportedProcesses three = read_log(log + "$ sleep 1\n" + k_2_13 + log);

  REQUIRE(three.size() == 3);
  CHECK(three[0].version == "2.19.6");
  CHECK(three[1].version.empty());
  CHECK(three[1].cells.size() == 4);
  CHECK(three[2].cells.size() == 26);
}

TEST_CASE("a log that is cut off keeps its whole rows") {
  const std::string log = import_log("all_reduce_2.19.6.log");
  const std::size_t row = log.find("     2097152");
  REQUIRE(row != std::string::npos);
  const std::size_t end = log.find('\n', row);
  const std::size_t first_half = log.find("       0 ", row) + 8;
  for (std::size_t at = row; at <= end; ++at) {
    INFO(log.substr(row, at - row));
    const ImportedProcess one = read_log(log.substr(0, at)).front();
    // The last number may lack its end, unless something follows it.
    CHECK(one.cells.size() == (at > first_half ? 19 : 18));
    CHECK(one.remarks.size() >= 1);
  }
  CHECK(read_log(log.substr(0, end + 1)).front().cells.size() == 20);
}

TEST_CASE("the collective of an old log comes from its command, its bandwidths or the user") {
  const std::string rows = k_2_13;
  CHECK(collective_of(read_log("$ mpirun -n 2 ./build/broadcast_perf -b 8\n" + rows)[0].cells[0])
            .collective == Collective::broadcast);
  CHECK(read_log("$ mpirun -n 2 ./build/broadcast_perf -b 8\n" + rows)[0].remarks.empty());
  CHECK(read_log(rows)[0].remarks.size() == 1);
  // The bandwidths do not fit.
  CHECK(error_of_log("./build/gather_perf\n" + rows) == Errc::invalid_argument);
  CHECK(error_of_log(rows, {.collective = Collective::gather}) == Errc::invalid_argument);
  // The row of 8 bytes has none.
  const std::string small = rows.substr(0, rows.find("   268435456"));
  CHECK(error_of_log(small) == Errc::invalid_argument);
  CHECK(collective_of(read_log(small, {.collective = Collective::broadcast})[0].cells.at(0))
            .collective == Collective::broadcast);
}

TEST_CASE("rows alone are read if the user says how many ranks there were") {
  const std::string log = import_log("all_reduce_2.19.6.log");
  const std::string rows = log.substr(log.find("           8"));

  CHECK(error_of_log(rows) == Errc::invalid_argument);
  const ImportedProcess one =
      read_log(rows, {.collective = Collective::all_reduce, .ranks = 2}).front();
  CHECK(one.cells.size() == 26);
  CHECK(one.ranks.size() == 2);
  CHECK(one.ranks[1].hostname.empty());
  CHECK(one.cells[0].record.samples.at(0).iterations == 1);
}

TEST_CASE("what cannot be told apart is refused") {
  const std::string log = import_log("all_reduce_2.19.6.log");
  auto with = [&](const std::string& old, const std::string& replacement) {
    std::string text = log;
    for (std::size_t at = text.find(old); at != std::string::npos;
         at = text.find(old, at + replacement.size()))
      text.replace(at, old.size(), replacement);
    return text;
  };
  CHECK(error_of_log("nothing of it") == Errc::invalid_argument);
  CHECK(error_of_log(with("    time ", " cputime ")) == Errc::invalid_argument);
  CHECK(error_of_log(with("Group  0", "Group  1")) == Errc::invalid_argument);
  CHECK(error_of_log(with("#  Rank  1", "#  Rank  0")) == Errc::invalid_argument);
  CHECK(error_of_log(log, {.ranks = 1}) == Errc::invalid_argument);
  // Built without MPI and started under mpirun: two jobs of one rank each.
  std::string alone = with("#  Rank  1", "# Other 1"), both;
  std::istringstream lines(alone);
  for (std::string line; std::getline(lines, line);)
    both += "[1,0]<stdout>:" + line + "\n[1,1]<stdout>:" + line + "\n";
  CHECK(error_of_log(both) == Errc::invalid_argument);
}

TEST_CASE("rows that are no rows are left out and counted") {
  const std::string log = import_log("all_reduce_2.19.6.log");
  std::string text = log;
  text.replace(text.find("   134217728      33554432     float"), 36,
               "   134217728      33554432     fp128");
  text.replace(text.find("   11.87    0.01"), 16, "     nan    0.01");

  const ImportedProcess one = read_log(text).front();

  CHECK(one.cells.size() == 22);
  CHECK(one.remarks.size() == 2);
}

TEST_CASE("a failure that nccl-tests prints is the outcome of its process") {
  const std::string log = import_log("all_reduce_2.19.6.log");
  const std::string cut = log.substr(0, log.find("   134217728"));

  const ImportedProcess one =
      read_log(cut + "h200-1: Test NCCL failure common.cu:309 'remote process exited'\n").front();

  CHECK(one.outcome.kind == model::OutcomeKind::failed);
  CHECK(one.cells.size() == 24);
}

} // namespace ncclprobe::analysis::imports
