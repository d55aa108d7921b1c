// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/spool_reader.h"

#include "backend/task_tracer.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <map>

using namespace ncclprobe;
using namespace ncclprobe::trace;

TEST_CASE("tasks are written for the rank of their stream, with what they belong to") {
  support::ScratchFolder folder;
  auto path = folder / "a.spool";
  {
    SpoolWriter spool;
    REQUIRE(spool.open(path.string()));
    backend::TaskTracer tracer({model::TraceLevel::kernels, &spool, {{0, 4}, {1, 5}}});
    std::uint16_t first = tracer.add_stream(0, "communication", -1);
    std::uint16_t second = tracer.add_stream(1, "", 0);
    tracer.begin_operation(7, 90);
    tracer.count_launch();
    tracer.add(first, "all_reduce", tracer.operation(), 100, 130, k_communication);
    tracer.end_operation(140);
    CHECK(tracer.operation() == 0);
    tracer.count_launch();
    tracer.add(second, "spin", tracer.operation(), 200, 200 + 5'000'000'000, 0);
    tracer.count_launch(); // and is never executed
    tracer.finish();
  }
  std::map<int, std::vector<KernelRow>> kernels;
  std::map<int, std::vector<StreamRow>> streams;
  std::vector<LongRow> longer;
  std::map<LossKind, std::uint64_t> ledger;
  REQUIRE(read_spool(path, [&](const SpoolBlock& block) {
    if (block.table == Table::kernel)
      kernels[block.rank] = block.as<KernelRow>();
    if (block.table == Table::stream)
      streams[block.rank] = block.as<StreamRow>();
    if (block.table == Table::long_duration)
      longer = block.as<LongRow>();
    if (block.table == Table::loss)
      for (const LossRow& row : block.as<LossRow>())
        ledger[row.kind] = row.count;
  }));
  REQUIRE(kernels[4].size() == 1);
  CHECK(kernels[4][0].start_ns == 100);
  CHECK(kernels[4][0].duration_ns == 30);
  CHECK(kernels[4][0].operation == 7);
  CHECK(kernels[4][0].flags == k_communication);
  REQUIRE(kernels[5].size() == 1);
  CHECK(kernels[5][0].duration_ns == k_long_duration);
  REQUIRE(longer.size() == 1);
  CHECK(longer[0].start_ns == 200);
  CHECK(longer[0].duration_ns == 5'000'000'000);
  REQUIRE(streams[4].size() == 1);
  CHECK(streams[4][0].priority == -1);
  REQUIRE(streams[5].size() == 1);
  CHECK(ledger == std::map<LossKind, std::uint64_t>{{LossKind::launches_seen, 3},
                                                    {LossKind::kernels_delivered, 2}});
}
