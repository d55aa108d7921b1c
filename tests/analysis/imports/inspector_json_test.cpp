// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/import_logs.h"
#include "analysis/imports/inspector_json.h"
#include "support/catch.h"

namespace ncclprobe::analysis::imports {
namespace {

ImportedProcess read_job(const std::vector<std::string>& texts, const ImportHints& hints = {}) {
  return base::value_or_throw(
      read_inspector(std::vector<std::string_view>(texts.begin(), texts.end()), hints));
}

const ImportedCell& cell_in(const ImportedProcess& process, model::Collective collective,
                            std::uint64_t bytes) {
  for (const ImportedCell& one : process.cells)
    if (one.label.bytes == bytes && one.label.collective()->collective == collective)
      return one;
  raise(Errc::not_found, "no such cell");
}

} // namespace

TEST_CASE("the files of NCCL Inspector become one process with a sample for each launch and rank") {
  const ImportedProcess one =
      read_job({import_log("inspector_rank0.log"), import_log("inspector_rank1_verbose.log")});

  CHECK(one.version == "v4.0");
  REQUIRE(one.ranks.size() == 2);
  CHECK(one.ranks[1].hostname == "h200-1");
  CHECK(one.ranks[1].device == 1);
  CHECK(one.ranks[0].pid != one.ranks[1].pid);
  REQUIRE(one.cells.size() == 3);
  const ImportedCell& small = cell_in(one, model::Collective::all_reduce, 1 << 20);
  CHECK(small.timing.mode == model::TimingMode::latency);
  CHECK(small.timing.batches == 5);
  REQUIRE(small.record.samples.size() == 10);
  CHECK(small.record.samples[0] ==
        model::Sample{.rank = 0, .batch = 0, .iterations = 1, .elapsed_ns = 21'000});
  CHECK(small.record.samples[9] ==
        model::Sample{.rank = 1, .batch = 4, .iterations = 1, .elapsed_ns = 26'000});
  // Inspector counts a rank's part; busbw counts what all of them give.
  CHECK(cell_in(one, model::Collective::all_gather, 2 << 20).record.samples.size() == 6);
}

TEST_CASE("one communicator is taken: the busiest, or the one that is named") {
  const std::string log = import_log("inspector_rank0.log");

  CHECK(read_job({log}).cells.size() == 3);
  const ImportedProcess other = read_job({log}, {.communicator = "0x1234abcd"});
  REQUIRE(other.cells.size() == 1);
  CHECK(other.cells[0].label.bytes == 8192);
  CHECK(read_job({log}, {.communicator = "DP Group 0"}).cells.size() == 3);
  const std::string_view text = log;
  CHECK(read_inspector({text}, {.communicator = "TP"}).error().code == Errc::invalid_argument);
}

TEST_CASE("lines that are cut off, broken or foreign are left out") {
  const std::string log = import_log("inspector_rank0.log");
  const std::size_t last = log.rfind('{', log.size() - 2);

  const ImportedProcess one = read_job({"\n[1,0]<stdout>:x\n{}\n" + log.substr(0, last + 30)});

  CHECK(one.cells.size() == 3);
  CHECK(std::ranges::count_if(one.remarks, [](const std::string& remark) {
          return remark.starts_with("Line ");
        }) == 3);
  for (const char* text :
       {"", "{}", "x", "{\"coll_perf\":{\"coll\":\"AllReduce\"},\"header\":7}",
        "{\"header\":{\"id\":1,\"rank\":5,\"n_ranks\":2},\"coll_perf\":{\"coll\":\"AllReduce\","
        "\"coll_sn\":1,\"coll_msg_size_bytes\":8,\"coll_exec_time_us\":1}}"}) {
    INFO(text);
    CHECK(read_inspector({text}, {}).error().code == Errc::invalid_argument);
  }
}

} // namespace ncclprobe::analysis::imports
