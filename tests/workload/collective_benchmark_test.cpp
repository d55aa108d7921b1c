// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/collective_benchmark.h"
#include "workload/schedule_rules.h"

using namespace ncclprobe;
using namespace ncclprobe::model;

namespace {

Cell cell_of(const workload::CollectiveRequest& request) {
  auto cell = workload::make_collective_cell(request, {});
  REQUIRE(cell.has_value());
  return *cell;
}

} // namespace

TEST_CASE("every collective makes a sound schedule, in and out of place, at odd sizes") {
  for (auto [collective, name] : enum_names(Collective{}))
    for (Placement placement : {Placement::out_of_place, Placement::in_place})
      for (int ranks : {1, 2, 3, 8})
        for (std::uint64_t bytes : {0ULL, 4ULL, 1000ULL, 1048576ULL}) {
          auto cell = workload::make_collective_cell(
              {collective, bytes, DataType::f32, ReduceOp::sum, placement, 0, ranks}, {});
          INFO(name << " " << to_string(placement) << " " << ranks << " ranks " << bytes);
          if (!cell) {
            CHECK(cell.error().code == base::Errc::unsupported);
            CHECK(placement == Placement::in_place);
            continue;
          }
          auto sound = workload::check_schedule(cell->schedule, ranks);
          CHECK((sound ? "" : sound.error().message) == std::string());
          CHECK(cell->label.bytes <= bytes);
        }
}

TEST_CASE("sizes are counted as nccl-tests counts them") {
  // S is one rank's buffer for all_reduce, the total for all_gather; blocks are multiples of 16
  // bytes.
  Cell reduce = cell_of(
      {Collective::all_reduce, 1000, DataType::f32, ReduceOp::sum, Placement::out_of_place, 0, 3});
  CHECK(std::get<CollectiveOp>(reduce.schedule.operations[0].what).count == 250);
  CHECK(reduce.label.bytes == 1000);

  Cell gather = cell_of(
      {Collective::all_gather, 1000, DataType::f32, ReduceOp::sum, Placement::out_of_place, 0, 3});
  CHECK(std::get<CollectiveOp>(gather.schedule.operations[0].what).count == 80); // 333 bytes -> 320
  CHECK(gather.label.bytes == 960);
  CHECK(gather.schedule.buffers[0].bytes.common == 320);
  CHECK(gather.schedule.buffers[1].bytes.common == 960);
}

TEST_CASE("in place, the smaller side is the rank's own block of the larger") {
  Cell gather = cell_of(
      {Collective::all_gather, 1024, DataType::f32, ReduceOp::sum, Placement::in_place, 0, 4});
  const auto& op = std::get<CollectiveOp>(gather.schedule.operations[0].what);
  CHECK(op.send.offset(3) == 768);
  CHECK(op.receive.offset(3) == 0);

  Cell scatter = cell_of(
      {Collective::reduce_scatter, 1024, DataType::f32, ReduceOp::sum, Placement::in_place, 0, 4});
  const auto& back = std::get<CollectiveOp>(scatter.schedule.operations[0].what);
  CHECK(back.send.offset(3) == 0);
  CHECK(back.receive.offset(3) == 768);
  CHECK(scatter.schedule.checks[0].slice == back.receive);
}

TEST_CASE("what NCCL has no call for is unsupported, a root outside is an error") {
  auto in_place = workload::make_collective_cell(
      {Collective::all_to_all, 1024, DataType::f32, ReduceOp::sum, Placement::in_place, 0, 2}, {});
  CHECK(in_place.error().code == base::Errc::unsupported);
  auto root = workload::make_collective_cell(
      {Collective::broadcast, 1024, DataType::f32, ReduceOp::sum, Placement::out_of_place, 2, 2},
      {});
  CHECK(root.error().code == base::Errc::invalid_argument);
}
