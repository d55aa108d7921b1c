// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Data: every collective, type, operation and placement against the oracle.

#include "backend/contract_case.h"
#include "support/catch.h"

namespace ncclprobe::contract {
namespace {

using model::Collective;
using model::DataType;
using model::Placement;
using model::ReduceOp;

constexpr std::uint64_t k_counts[] = {0, 1, 3, 1007};

void run_and_check(World& world, const Case& one) {
  CaseRun run(world, one);
  run.enqueue();
  world.wait();
  if (world.backend().moves_data())
    run.require_right();
}

bool supports(World& world, Collective collective, DataType type, ReduceOp op) {
  try {
    world.communicator(0).require_support(collective, type, op);
    return true;
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::unsupported);
    return false;
  }
}

void run_all_cases(World& world, Collective collective) {
  for (const auto& [type, type_name] : enum_names(DataType{}))
    for (const auto& [op, op_name] : enum_names(ReduceOp{})) {
      if (!model::reduces(collective) && op != ReduceOp::sum)
        continue;
      if (!model::can_check(type, op, world.ranks()) || !supports(world, collective, type, op))
        continue;
      for (const auto& [placement, placement_name] : enum_names(Placement{})) {
        if (collective == Collective::all_to_all && placement == Placement::in_place)
          continue;
        for (std::uint64_t count : k_counts) {
          int last_root = model::has_root(collective) ? world.ranks() - 1 : 0;
          for (int root : {0, last_root}) {
            run_and_check(world, {collective, type, op, placement, count, root});
            if (last_root == 0)
              break;
          }
        }
      }
    }
}

void run_all_sizes(Collective collective) {
  ContractSubject subject = contract_subject();
  for (int ranks : {1, 2, 3, 8}) {
    if (ranks > subject.devices)
      break;
    World world(subject, ranks);
    run_all_cases(world, collective);
  }
}

TEST_CASE("all_reduce is right in every type, operation and placement") {
  NCCLPROBE_CONTRACT(subject, 1);
  run_all_sizes(Collective::all_reduce);
}
TEST_CASE("all_gather is right in every type and placement") {
  NCCLPROBE_CONTRACT(subject, 1);
  run_all_sizes(Collective::all_gather);
}
TEST_CASE("reduce_scatter is right in every type, operation and placement") {
  NCCLPROBE_CONTRACT(subject, 1);
  run_all_sizes(Collective::reduce_scatter);
}
TEST_CASE("broadcast is right in every type and placement, from the first and the last rank") {
  NCCLPROBE_CONTRACT(subject, 1);
  run_all_sizes(Collective::broadcast);
}
TEST_CASE(
    "reduce is right in every type, operation and placement, to the first and the last rank") {
  NCCLPROBE_CONTRACT(subject, 1);
  run_all_sizes(Collective::reduce);
}
TEST_CASE("all_to_all is right in every type") {
  NCCLPROBE_CONTRACT(subject, 1);
  run_all_sizes(Collective::all_to_all);
}
TEST_CASE("gather is right in every type and placement, to the first and the last rank") {
  NCCLPROBE_CONTRACT(subject, 1);
  run_all_sizes(Collective::gather);
}
TEST_CASE("scatter is right in every type and placement, from the first and the last rank") {
  NCCLPROBE_CONTRACT(subject, 1);
  run_all_sizes(Collective::scatter);
}

TEST_CASE("messages of several megabytes arrive whole") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);

  for (Collective collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
        Collective::reduce, Collective::broadcast, Collective::all_to_all})
    run_and_check(world,
                  {collective, DataType::f32, ReduceOp::sum, Placement::out_of_place, 1'500'007});
}

TEST_CASE("collectives that follow each other without waiting do not mix") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);
  std::vector<std::unique_ptr<CaseRun>> runs;
  for (int i = 0; i < 10; ++i)
    for (Collective collective :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather})
      runs.push_back(std::make_unique<CaseRun>(world, Case{collective, DataType::i32, ReduceOp::sum,
                                                           Placement::out_of_place,
                                                           100U + static_cast<unsigned>(i)}));

  for (auto& run : runs)
    run->enqueue();
  world.wait();

  if (!world.backend().moves_data())
    return;
  for (auto& run : runs)
    run->require_right();
}

TEST_CASE("collectives of one communicator on two streams do not mix") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);
  auto out_of_place = Placement::out_of_place;
  CaseRun first(world,
                {Collective::all_reduce, DataType::f32, ReduceOp::sum, out_of_place, 100'003});
  CaseRun second(world,
                 {Collective::all_reduce, DataType::i32, ReduceOp::max, out_of_place, 50'021});
  CaseRun third(world,
                {Collective::reduce_scatter, DataType::f16, ReduceOp::sum, out_of_place, 7'001});

  world.stream(0, 0).spin(30'000'000); // one rank comes to the second stream's work first,
  world.stream(1, 1).spin(30'000'000); // the other to the first's
  for (int i = 0; i < 3; ++i) {
    first.enqueue(0);
    second.enqueue(1);
    third.enqueue(1);
  }
  world.wait();

  if (!world.backend().moves_data())
    return;
  first.require_right();
  second.require_right();
  third.require_right();
}

TEST_CASE("a communicator of some ranks works beside the world's") {
  NCCLPROBE_CONTRACT(subject, 3);
  World world(subject, 3);
  auto reversed = world.connect("reversed", {2, 0});
  REQUIRE(reversed.size() == 2);
  CHECK(reversed[0]->rank() == 0);
  CHECK(reversed[1]->rank() == 1);
  CHECK(reversed[1]->size() == 2);
  auto& backend = world.backend();
  model::Pattern pattern =
      model::pattern_for(k_contract_seed, Collective::all_gather, DataType::i32, ReduceOp::sum, 2);
  constexpr std::uint64_t k_count = 5;
  std::vector<std::unique_ptr<backend::Buffer>> buffers;
  for (int rank : {0, 1}) {
    buffers.push_back(world.device(rank == 0 ? 2 : 0).allocate(2 * k_count * 4));
    buffers.back()->poison();
    buffers.back()->fill(static_cast<std::uint64_t>(rank) * k_count * 4, DataType::i32, pattern,
                         rank, k_count);
  }

  backend.group_begin();
  for (int rank : {0, 1}) {
    auto& buffer = *buffers[static_cast<std::size_t>(rank)];
    reversed[static_cast<std::size_t>(rank)]->enqueue(
        {Collective::all_gather,
         {buffer, static_cast<std::uint64_t>(rank) * k_count * 4},
         {buffer, 0},
         k_count,
         DataType::i32,
         ReduceOp::sum,
         0},
        world.stream(rank == 0 ? 2 : 0));
  }
  backend.group_end();
  world.wait();

  if (!backend.moves_data())
    return;
  for (int rank : {0, 1}) {
    auto expected =
        model::expectation_for(Collective::all_gather, ReduceOp::sum, 0, k_count, rank, 2);
    CHECK(buffers[static_cast<std::size_t>(rank)]
              ->compare(0, DataType::i32, pattern, expected)
              .wrong == 0);
  }
}

// Splits the world into its even and its odd ranks, the latter in reversed order.
struct Halves {
  explicit Halves(World& world) {
    for (int rank = 0; rank < world.ranks(); rank += 2)
      even_ranks.push_back(rank);
    for (int rank = 1; rank < world.ranks(); rank += 2)
      odd_ranks.insert(odd_ranks.begin(), rank);
    even = world.split("even", even_ranks);
    odd = world.split("odd", odd_ranks);
  }
  std::vector<int> even_ranks;
  std::vector<int> odd_ranks;
  std::vector<std::unique_ptr<backend::Communicator>> even; // by world rank
  std::vector<std::unique_ptr<backend::Communicator>> odd;
};

TEST_CASE("communicators split off the world are its ranks in the order asked for, and no others") {
  NCCLPROBE_CONTRACT(subject, 4);
  World world(subject, 4);

  Halves halves(world);

  REQUIRE(halves.even.size() == 2);
  REQUIRE(halves.odd.size() == 2);
  CHECK(halves.even[0]->rank() == 0);
  CHECK(halves.even[1]->rank() == 1);
  CHECK(halves.odd[0]->rank() == 1); // of world rank 1
  CHECK(halves.odd[1]->rank() == 0);
  CHECK(halves.odd[0]->size() == 2);
}

TEST_CASE("split communicators work at once, each on its own data, and the world works after") {
  NCCLPROBE_CONTRACT(subject, 4);
  World world(subject, 4);
  Halves halves(world);
  constexpr std::uint64_t k_count = 1007;
  std::vector<std::unique_ptr<backend::Buffer>> buffers;
  auto pattern_of = [](int half) {
    return model::pattern_for(k_contract_seed + static_cast<unsigned>(half), Collective::all_reduce,
                              DataType::i64, ReduceOp::sum, 2);
  };
  auto communicator = [&](int rank) -> backend::Communicator& {
    auto& half = rank % 2 == 0 ? halves.even : halves.odd;
    return *half[static_cast<std::size_t>(rank / 2)];
  };
  for (int rank = 0; rank < 4; ++rank) {
    buffers.push_back(world.device(rank).allocate(k_count * 8));
    buffers.back()->fill(0, DataType::i64, pattern_of(rank % 2), communicator(rank).rank(),
                         k_count);
  }

  world.on_all_ranks([&](int rank) {
    backend::Buffer& buffer = *buffers[static_cast<std::size_t>(rank)];
    communicator(rank).enqueue({Collective::all_reduce,
                                {buffer, 0},
                                {buffer, 0},
                                k_count,
                                DataType::i64,
                                ReduceOp::sum,
                                0},
                               world.stream(rank));
  });
  world.wait();

  if (world.backend().moves_data())
    for (int rank = 0; rank < 4; ++rank) {
      auto expected =
          model::expectation_for(Collective::all_reduce, ReduceOp::sum, 0, k_count, 0, 2);
      INFO("rank " << rank);
      CHECK(buffers[static_cast<std::size_t>(rank)]
                ->compare(0, DataType::i64, pattern_of(rank % 2), expected)
                .wrong == 0);
    }
  run_and_check(world, {});
}

TEST_CASE("a buffer may be empty") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);

  auto buffer = world.device(0).allocate(0);
  buffer->poison();

  CHECK(buffer->size_bytes() == 0);
}

TEST_CASE("all_to_all in place is refused as unsupported") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto buffer = world.device(0).allocate(64);
  backend::CollectiveCall call{
      Collective::all_to_all, {*buffer, 0}, {*buffer, 0}, 4, DataType::f32, ReduceOp::sum, 0};

  base::Errc code = base::Errc::failed;
  try {
    world.communicator(0).enqueue(call, world.stream(0));
  } catch (const base::Exception& error) {
    code = error.error().code;
  }

  CHECK(code == base::Errc::unsupported);
}

} // namespace
} // namespace ncclprobe::contract
