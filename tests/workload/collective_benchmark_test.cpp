// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/collective_benchmark.h"
#include "workload/schedule_rules.h"

#include <algorithm>

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
            CHECK((placement == Placement::in_place ||
                   (collective == Collective::hypercube && ranks == 3)));
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

TEST_CASE("every variant makes a sound schedule and says in its label what it is") {
  for (auto [collective, name] : enum_names(Collective{}))
    for (int streams : {1, 3})
      for (int split : {1, 2, 4})
        for (std::uint64_t offset : {0, 3})
          for (std::uint64_t count : {0, 1, 3, 1023}) {
            workload::CollectiveRequest request;
            request.collective = collective;
            request.ranks = 8;
            request.count = count;
            request.streams = streams;
            request.split = split;
            request.offset = offset;
            INFO(name << " streams " << streams << " split " << split << " offset " << offset
                      << " count " << count);
            Cell cell = cell_of(request);
            auto sound = workload::check_schedule(cell.schedule, 8);
            CHECK((sound ? "" : sound.error().message) == std::string());
            CHECK(cell.schedule.streams.size() == static_cast<std::size_t>(streams));
            CHECK(cell.schedule.checks.size() >= static_cast<std::size_t>(streams * split));
            CHECK(cell.schedule.fills.size() == static_cast<std::size_t>(streams * split));
          }
}

TEST_CASE("the words of a variant come in the order of the model") {
  workload::CollectiveRequest request;
  request.bytes = 1024;
  request.ranks = 4;
  CHECK(cell_of(request).label.variant().empty());
  request.offset = 4;
  request.streams = 2;
  request.split = 2;
  request.memory = Memory::registered;
  request.launch = model::Launch::graph;

  Cell cell = cell_of(request);

  CHECK(cell.label.variant() == "graph registered split=2 streams=2 offset=4");
  CHECK(cell.label.bytes == 1024); // of one communicator
  CHECK(cell.schedule.capture == cell.schedule.timed);
  for (const BufferDecl& buffer : cell.schedule.buffers) {
    CHECK(buffer.memory == Memory::registered);
    CHECK(buffer.bytes.common == 1024 + 16);
  }
}

TEST_CASE("a split's communicators are neighbours and come from the world") {
  workload::CollectiveRequest request;
  request.bytes = 1024;
  request.ranks = 6;
  request.split = 2;

  Cell cell = cell_of(request);

  REQUIRE(cell.schedule.communicators.size() == 3);
  CHECK(cell.schedule.communicators[1].ranks == std::vector{0, 1, 2});
  CHECK(cell.schedule.communicators[2].ranks == std::vector{3, 4, 5});
  CHECK(cell.schedule.communicators[2].parent == 0);
  CHECK(cell.schedule.operations.size() == 2);
}

TEST_CASE("counts are taken as they are, sizes are rounded to blocks of 16 bytes") {
  workload::CollectiveRequest request;
  request.collective = Collective::all_gather;
  request.ranks = 3;
  request.count = 1023;

  Cell cell = cell_of(request);

  CHECK(std::get<CollectiveOp>(cell.schedule.operations[0].what).count == 1023);
  CHECK(cell.label.bytes == 3 * 1023 * 4);
}

TEST_CASE("all_to_all_v has the blocks of nccl-tests: proportional to the distance") {
  // 4 ranks, 1 MiB: AlltoAllvGetPeerBytesDistanceWeighted gives d * 1 MiB / 6, down to 16 bytes.
  Cell cell = cell_of({Collective::all_to_all_v, 1 << 20, DataType::f32, ReduceOp::sum,
                       Placement::out_of_place, 0, 4});

  std::vector<std::uint64_t> bytes;
  for (const Operation& operation : cell.schedule.operations)
    if (const auto* send = std::get_if<SendOp>(&operation.what))
      bytes.push_back(send->count.common * 4);
  CHECK(bytes == std::vector<std::uint64_t>{174752, 349520, 524288});
  CHECK(cell.label.bytes == 174752 + 349520 + 524288);
}

TEST_CASE("a hypercube swaps ever more blocks with ever farther partners") {
  Cell cell = cell_of(
      {Collective::hypercube, 8 * 1024, DataType::f32, ReduceOp::sum, Placement::in_place, 0, 8});

  std::vector<std::uint64_t> counts;
  for (const Operation& operation : cell.schedule.operations)
    if (const auto* send = std::get_if<SendOp>(&operation.what))
      if (std::find(operation.ranks.begin(), operation.ranks.end(), 5) != operation.ranks.end())
        counts.push_back(send->count.common * 1000 +
                         static_cast<std::uint64_t>(send->to.resolve(5, 8)));
  CHECK(counts == std::vector<std::uint64_t>{256004, 512007, 1024001});
}

TEST_CASE("variants that cannot be are unsupported, with the reason") {
  auto refusal = [](const workload::CollectiveRequest& request) {
    auto cell = workload::make_collective_cell(request, {});
    REQUIRE_FALSE(cell.has_value());
    CHECK(cell.error().code == base::Errc::unsupported);
    return cell.error().message;
  };
  workload::CollectiveRequest request;
  request.ranks = 6;
  request.split = 4;
  CHECK_THAT(refusal(request), ContainsSubstring("6 ranks do not split into 4"));
  request.split = 2;
  request.collective = Collective::broadcast;
  request.root = 3;
  CHECK_THAT(refusal(request), ContainsSubstring("root 3 is not in a communicator of 3"));
  request.collective = Collective::hypercube;
  CHECK_THAT(refusal(request), ContainsSubstring("power of two of ranks, not 3"));
  CHECK_THAT(refusal({Collective::all_reduce, 1024, DataType::f8e4m3, ReduceOp::avg,
                      Placement::out_of_place, 0, 65}),
             ContainsSubstring("1/65"));
}
