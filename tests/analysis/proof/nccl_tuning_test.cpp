// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/nccl_log.h"
#include "base/atomic_file.h"
#include "support/catch.h"
#include "support/paths.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;

namespace {

const TunedAlgorithm* tuned_in(const TuningTable& table, std::string_view function,
                               std::string_view algorithm, std::string_view protocol) {
  auto found = std::find_if(
      table.algorithms.begin(), table.algorithms.end(), [&](const TunedAlgorithm& one) {
        return one.function == function && one.algorithm == algorithm && one.protocol == protocol;
      });
  return found == table.algorithms.end() ? nullptr : &*found;
}

} // namespace

TEST_CASE("NCCL's table of latencies and bandwidths is read off its log") {
  // From NCCL 2.28.3 on 8 H200 without NVLS.
  auto text =
      base::read_file(support::source_dir() + "/tests/analysis/data/nccl-2.28.3-tuning.log");
  REQUIRE(text.has_value());

  const NcclLog log = read_nccl_log(*text);

  REQUIRE(log.tables.size() == 1);
  const TuningTable& table = log.tables[0];
  CHECK(table.ranks == 8);
  CHECK(table.nodes == 1);
  // Ring and tree of all-reduce, ring of the four others; what has no bandwidth is not considered.
  CHECK(table.algorithms.size() == 6 + 4 * 3);
  REQUIRE(tuned_in(table, "AllReduce", "TREE", "LL128") != nullptr);
  CHECK(tuned_in(table, "AllReduce", "TREE", "LL128")->latency_us == 31.5);
  CHECK(tuned_in(table, "AllReduce", "TREE", "LL128")->gb_per_s == 128.8);
  REQUIRE(tuned_in(table, "ReduceScatter", "RING", "SIMPLE") != nullptr);
  CHECK(tuned_in(table, "ReduceScatter", "RING", "SIMPLE")->gb_per_s == 411.4);
  CHECK(tuned_in(table, "AllReduce", "NVLS", "SIMPLE") == nullptr);
}

TEST_CASE("Each communicator has a table of its own") {
  const NcclLog log =
      read_nccl_log("n:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4\n"
                    "n:1:1 [0] NCCL INFO   Algorithm   |  Ring |\n"
                    "n:1:1 [0] NCCL INFO   Protocol    |  LL | Simple |\n"
                    "n:1:1 [0] NCCL INFO  AllReduce |  10.0/  50.0 | 20.0/ 0.0 |\n"
                    "n:1:1 [0] NCCL INFO comm 0x2 rank 0 nRanks 2 nNodes 1 localRanks 2\n"
                    "n:1:1 [0] NCCL INFO   Algorithm   |  Ring |\n"
                    "n:1:1 [0] NCCL INFO   Protocol    |  LL | Simple |\n"
                    "n:1:1 [0] NCCL INFO  AllReduce |  6.5/  90.0 | oops | \n"
                    "n:1:1 [0] NCCL INFO  AllReduce |  6.5/  90.0 |\n"
                    "n:1:1 [0] NCCL INFO 24 coll channels, 24 collnet channels, 0 nvls channels\n");

  REQUIRE(log.tables.size() == 2);
  CHECK(log.tables[0].nodes == 2);
  CHECK(log.tables[0].algorithms ==
        std::vector<TunedAlgorithm>{{"AllReduce", "RING", "LL", 10, 50}});
  CHECK(log.tables[0].channels == 0);
  CHECK(log.tables[1].channels == 24);
  CHECK(log.tables[1].ranks == 2);
  REQUIRE_FALSE(log.tables[1].algorithms.empty());
  CHECK(log.tables[1].algorithms[0].latency_us == 6.5);
}

TEST_CASE("NCCL expects latency and bytes by bandwidth") {
  const TunedAlgorithm ring{"AllReduce", "RING", "LL", 15, 80.6};

  CHECK(tuned_time(ring, 65536, 1).time_us == Approx(15 + 65536 / 80600.0));
  CHECK(tuned_time(ring, 65536, 2).is_whole);
  // Estimates that NCCL corrects by figures that it does not log.
  CHECK_FALSE(tuned_time({"AllReduce", "TREE", "LL", 15, 40}, 65536, 1).is_whole);
  CHECK(tuned_time({"AllReduce", "TREE", "LL", 15, 40}, std::uint64_t{1} << 30, 1).is_whole);
  CHECK(tuned_time({"AllReduce", "NVLS_TREE", "SIMPLE", 15, 40}, 65536, 2).is_whole);
  CHECK_FALSE(tuned_time({"AllReduce", "RING", "SIMPLE", 15, 40}, 65536, 2).is_whole);
  CHECK(tuned_time({"AllGather", "RING", "SIMPLE", 15, 40}, 65536, 2).is_whole);
}
