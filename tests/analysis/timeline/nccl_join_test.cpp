// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/nccl_join.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

struct Outcome {
  Joined joined;
  Activities activities;
};

Outcome join(const RankBuilder& rank, std::optional<ClockModel> gpu = ClockModel{},
             double error_ns = 0) {
  OperationIndex operations(rank.trace.operations);
  NcclTimes times = nccl_times(rank.trace, gpu);
  Outcome out{{}, activities_of(rank.trace, operations, times)};
  out.joined = join_nccl(rank.trace, times, error_ns, out.activities);
  return out;
}

} // namespace

TEST_CASE("Kernels are joined to NCCL's operations by the schedule's operation") {
  RankBuilder rank;
  rank.nccl(1, {12, 18}, 5);
  rank.nccl(2, {31, 45}, 6);
  rank.communicate({10, 20}, 5);
  rank.communicate({30, 40}, 6);
  rank.communicate({50, 60}, 7); // NCCL reported nothing about it
  rank.trace.nccl_channels.push_back(rank.trace.nccl_channels[0]);
  rank.trace.nccl_channels.back().nccl_operation = 99; // of none
  trace::NcclStepRow proxy;
  proxy.nccl_operation = 2;
  rank.trace.nccl_steps = {proxy, proxy, {}};
  Outcome out = join(rank);
  const JoinCounts& counts = out.joined.counts;
  CHECK(counts.kernels == 3);
  CHECK(counts.kernels_by_key == 2);
  CHECK(counts.kernels_by_time == 0);
  CHECK(counts.operations == 2);
  CHECK(counts.operations_joined == 2);
  CHECK(counts.channels == 3);
  CHECK(counts.channels_joined == 2);
  CHECK(counts.proxy_steps == 3);
  CHECK(counts.proxy_steps_joined == 2);
  CHECK(counts.channels_compared == 2);
  CHECK(counts.channels_outside == 1);
  CHECK(counts.worst_outside_ns == 5); // 45 against 40
  CHECK(out.joined.activity_of == std::vector<std::uint32_t>{1, 2});
  CHECK(out.activities.all[1].nccl == 2);
}

TEST_CASE("A kernel may be several of NCCL's operations") {
  RankBuilder rank;
  rank.nccl(1, {12, 14}, 5);
  rank.nccl(2, {15, 18}, 5);
  rank.communicate({10, 20}, 5);
  Outcome out = join(rank);
  CHECK(out.joined.counts.kernels_by_key == 1);
  CHECK(out.joined.counts.operations_joined == 2);
  CHECK(out.activities.all[0].nccl == 1);
}

TEST_CASE("Several kernels of one operation go with NCCL's in their order") {
  RankBuilder rank;
  for (std::uint64_t i = 0; i < 3; ++i) {
    rank.nccl(i, {0, 0}, 5);
    rank.communicate({static_cast<std::int64_t>(100 * i), static_cast<std::int64_t>(100 * i + 50)},
                     5);
  }
  Outcome out = join(rank, std::nullopt);
  CHECK(out.joined.counts.kernels_by_key == 3);
  CHECK(out.joined.activity_of == std::vector<std::uint32_t>{1, 2, 3});
}

TEST_CASE("Without a key the times of the channels tell the kernel") {
  RankBuilder rank;
  rank.nccl(1, {12, 18}); // in the first
  rank.nccl(2, {29, 38}); // 1 ns before the second
  rank.nccl(3, {70, 80}); // in none
  rank.communicate({10, 20});
  rank.communicate({30, 40});
  CHECK(join(rank).joined.activity_of == std::vector<std::uint32_t>{1, 0, 0});
  Outcome out = join(rank, ClockModel{}, 2);
  CHECK(out.joined.activity_of == std::vector<std::uint32_t>{1, 2, 0});
  CHECK(out.joined.counts.kernels_by_time == 2);
  CHECK(out.joined.counts.kernels_by_key == 0);
  CHECK(join(rank, std::nullopt).joined.counts.operations_joined == 0); // no clock, no times
}

TEST_CASE("What NCCL alone told is joined to nothing") {
  RankBuilder rank;
  rank.nccl(1, {12, 18});
  Outcome out = join(rank);
  CHECK(out.joined.counts.kernels == 0);
  CHECK(out.joined.counts.operations_joined == 0);
  CHECK(out.joined.counts.channels_joined == 1);
}
