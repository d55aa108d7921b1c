// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/guard_bands.h"
#include "launch/worker/untouched_memory.h"
#include "support/catch.h"
#include "workload/collective_benchmark.h"
#include "workload/p2p_benchmark.h"

using namespace ncclprobe;
using namespace ncclprobe::model;
using worker::k_guard_bytes;
using worker::untouched_memory;
using worker::UntouchedRegion;

namespace {

constexpr int k_poison = -1;

Schedule schedule_of(Collective collective, Placement placement, std::uint64_t count,
                     std::uint64_t offset = 0) {
  workload::CollectiveRequest request;
  request.collective = collective;
  request.placement = placement;
  request.count = count;
  request.offset = offset;
  request.ranks = 4;
  request.root = 2;
  return workload::make_collective_cell(request, {}).value().schedule;
}

// Bytes from the begin of the data on; the guard bands lie outside.
UntouchedRegion region(int buffer, std::int64_t begin, std::int64_t end, int fill = k_poison) {
  auto place = [](std::int64_t at) { return k_guard_bytes + static_cast<std::uint64_t>(at); };
  return {buffer, place(begin), place(end), fill};
}
constexpr auto k_guard = static_cast<std::int64_t>(k_guard_bytes);

using Regions = std::vector<UntouchedRegion>;

} // namespace

TEST_CASE("out of place, the input and what lies around input and output stay as they were") {
  Schedule schedule = schedule_of(Collective::all_reduce, Placement::out_of_place, 100);

  CHECK(untouched_memory(schedule, 4, 1) ==
        Regions{region(0, -k_guard, 0), region(0, 0, 400, 0), region(0, 400, 400 + k_guard),
                region(1, -k_guard, 0), region(1, 400, 400 + k_guard)});
}

TEST_CASE("a rank that gets no result keeps its whole receive buffer") {
  for (Collective collective : {Collective::reduce, Collective::gather}) {
    Schedule schedule = schedule_of(collective, Placement::out_of_place, 100);
    std::int64_t bytes = collective == Collective::gather ? 1600 : 400;
    INFO(to_string(collective));

    Regions root = untouched_memory(schedule, 4, 2);
    Regions other = untouched_memory(schedule, 4, 1);

    CHECK(root.back() == region(1, bytes, bytes + k_guard));
    CHECK(other.back() == region(1, -k_guard, bytes + k_guard));
  }
}

TEST_CASE("a rank that has no input keeps its whole send buffer") {
  Schedule schedule = schedule_of(Collective::broadcast, Placement::out_of_place, 100);

  CHECK(untouched_memory(schedule, 4, 1)[0] == region(0, -k_guard, 400 + k_guard));
  CHECK(untouched_memory(schedule, 4, 2)[1] == region(0, 0, 400, 0));
}

TEST_CASE("in place, the parts of the input that are not overwritten stay") {
  Schedule schedule = schedule_of(Collective::reduce_scatter, Placement::in_place, 100);

  CHECK(untouched_memory(schedule, 4, 1) == Regions{region(0, -k_guard, 0), region(0, 0, 400, 0),
                                                    region(0, 800, 1600, 0),
                                                    region(0, 1600, 1600 + k_guard)});
  // In a reduction in place, ranks other than the root only have their input.
  schedule = schedule_of(Collective::reduce, Placement::in_place, 100);
  CHECK(untouched_memory(schedule, 4, 1)[1] == region(0, 0, 400, 0));
  CHECK(untouched_memory(schedule, 4, 2).size() == 2);
}

TEST_CASE("data off their alignment have poison before them") {
  Schedule schedule = schedule_of(Collective::all_reduce, Placement::out_of_place, 100, 3);

  CHECK(untouched_memory(schedule, 4, 0)[0] == region(0, -k_guard, 12));
  CHECK(untouched_memory(schedule, 4, 0)[1] == region(0, 12, 412, 0));
}

TEST_CASE("blocks of unequal sizes leave no gaps, and what is behind the last one stays") {
  Schedule schedule = schedule_of(Collective::all_to_all_v, Placement::out_of_place, 100);

  Regions regions = untouched_memory(schedule, 4, 3);

  std::uint64_t bytes = schedule.buffers[1].bytes.at(3);
  CHECK(regions.back().begin == k_guard_bytes + bytes);
  CHECK(regions[regions.size() - 2] == region(1, -k_guard, 0));
}

TEST_CASE("of a copy between ranks the source stays, and ranks without a part have no memory") {
  using namespace workload;
  Cell cell = make_p2p_cell(
      {{P2pMode::direct, P2pMethod::ce, P2pDirection::uni, {{{false, 0}, {false, 1}}}}, 4096, 3});

  CHECK(untouched_memory(cell.schedule, 3, 0) ==
        Regions{region(0, -k_guard, 0), region(0, 0, 4096, 0), region(0, 4096, 4096 + k_guard)});
  CHECK(untouched_memory(cell.schedule, 3, 1) ==
        Regions{region(1, -k_guard, 0), region(1, 4096, 4096 + k_guard)});
  CHECK(untouched_memory(cell.schedule, 3, 2).empty());
}

TEST_CASE("a later fill counts where it lies over an earlier one") {
  Schedule schedule;
  schedule.buffers = {{"data", 1000}};
  schedule.streams = {{"compute"}};
  schedule.operations = {{SpinOp{}}};
  schedule.timed = {0, 1};
  schedule.fills = {{k_all_ranks, {0}, 250}, {k_all_ranks, {0, 100}, 25}};

  CHECK(untouched_memory(schedule, 1, 0) == Regions{region(0, -k_guard, 0), region(0, 0, 100, 0),
                                                    region(0, 100, 200, 1), region(0, 200, 1000, 0),
                                                    region(0, 1000, 1000 + k_guard)});
}
