// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Properties beyond the contract of all backends (tests/backend).
#include "backend/contract_world.h"
#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "nvidia/nccl_backend.h"
#include "support/catch.h"

#include <algorithm>
#include <numeric>

using namespace ncclprobe;
using contract::World;
using model::Collective;
using model::DataType;
using model::ReduceOp;

namespace {

constexpr std::uint64_t k_elements = 1021;
constexpr int k_most_gpus = 4;

int gpus_to_use() {
  return std::min(support::find_gpus().count, k_most_gpus);
}

// Wrong elements over all ranks after one out-of-place call on poisoned receive buffers.
std::uint64_t wrong_after(World& world, Collective collective, int root) {
  int n = world.ranks();
  model::BlockCounts blocks = model::block_counts(collective, n);
  model::Pattern pattern = model::pattern_for(11, collective, DataType::f32, ReduceOp::sum, n);
  std::uint64_t send_count = static_cast<std::uint64_t>(blocks.send) * k_elements;
  std::uint64_t receive_count = static_cast<std::uint64_t>(blocks.receive) * k_elements;
  std::vector<std::unique_ptr<backend::Buffer>> send;
  std::vector<std::unique_ptr<backend::Buffer>> receive;
  for (int rank = 0; rank < n; ++rank) {
    send.push_back(world.device(rank).allocate(send_count * sizeof(float)));
    receive.push_back(world.device(rank).allocate(receive_count * sizeof(float)));
    send.back()->fill(0, DataType::f32, pattern, rank, send_count);
    receive.back()->poison();
  }

  world.on_all_ranks([&](int rank) {
    auto at = static_cast<std::size_t>(rank);
    world.communicator(rank).enqueue({collective,
                                      {*send[at], 0},
                                      {*receive[at], 0},
                                      k_elements,
                                      DataType::f32,
                                      ReduceOp::sum,
                                      root},
                                     world.stream(rank));
  });
  world.wait();

  std::uint64_t wrong = 0;
  for (int rank = 0; rank < n; ++rank) {
    auto expected = model::expectation_for(collective, ReduceOp::sum, root, k_elements, rank, n);
    wrong +=
        receive[static_cast<std::size_t>(rank)]->compare(0, DataType::f32, pattern, expected).wrong;
  }
  return wrong;
}

std::vector<backend::Communicator*> all_of(World& world) {
  std::vector<backend::Communicator*> members;
  for (int rank = 0; rank < world.ranks(); ++rank)
    members.push_back(&world.communicator(rank));
  return members;
}

} // namespace

TEST_CASE(
    "without the library's own all-to-all, gather and scatter, sends and receives do the same") {
  NCCLPROBE_NEEDS_GPUS(1);
  contract::ContractSubject old_nccl = contract::contract_subject();
  old_nccl.make = [](const backend::Options& options) {
    nvidia::NcclLibrary table(options);
    table.all_to_all = nullptr;
    table.gather = nullptr;
    table.scatter = nullptr;
    return std::make_unique<nvidia::NcclBackend>(std::make_shared<const nvidia::NcclLibrary>(table),
                                                 nvidia::start_nvml(options), options);
  };
  World world(old_nccl, gpus_to_use());

  for (Collective collective : {Collective::all_to_all, Collective::gather, Collective::scatter})
    for (int root : {0, world.ranks() - 1}) {
      INFO(model::to_string(collective) << " root " << root << " on " << world.ranks() << " GPUs");
      CHECK(wrong_after(world, collective, root) == 0);
    }
}

TEST_CASE("a group that a refused call left open does not hold up what follows") {
  NCCLPROBE_NEEDS_GPUS(1);
  World world(contract::contract_subject(), gpus_to_use());
  auto buffer = world.device(0).allocate(4096);
  backend::CollectiveCall in_place{
      Collective::all_to_all, {*buffer, 0}, {*buffer, 0}, 16, DataType::f32, ReduceOp::sum, 0};

  world.backend().group_begin();
  CHECK_THROWS_AS(world.communicator(0).enqueue(in_place, world.stream(0)), base::Exception);

  CHECK(world.backend().max_over_ranks(all_of(world), 1) == 1);
  CHECK(wrong_after(world, Collective::all_reduce, 0) == 0);
}

TEST_CASE("NCCL tells what it expects of a collective, and launches nothing") {
  NCCLPROBE_NEEDS_GPUS(2);
  constexpr std::uint64_t k_large = 4 << 20;
  World world(contract::contract_subject(), gpus_to_use());
  REQUIRE(wrong_after(world, Collective::all_reduce, 0) == 0); // connected
  std::vector<std::unique_ptr<backend::Buffer>> buffers;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    buffers.push_back(world.device(rank).allocate(k_large * sizeof(float)));
    buffers.back()->poison();
  }
  auto expected_us = [&](std::uint64_t count) {
    return world.backend().estimate_us([&] {
      for (int rank = 0; rank < world.ranks(); ++rank) {
        backend::Buffer& buffer = *buffers[static_cast<std::size_t>(rank)];
        world.communicator(rank).enqueue({Collective::all_reduce,
                                          {buffer, 0},
                                          {buffer, 0},
                                          count,
                                          DataType::f32,
                                          ReduceOp::sum,
                                          0},
                                         world.stream(rank));
      }
    });
  };

  auto small_us = expected_us(1024);
  auto large_us = expected_us(k_large);
  world.wait();

  REQUIRE(small_us);
  REQUIRE(large_us);
  INFO(*small_us << " us and " << *large_us << " us");
  CHECK(*small_us > 1);
  CHECK(*large_us > 2 * *small_us);
  std::vector<std::byte> bytes(64);
  buffers[0]->read(0, bytes);
  CHECK(std::all_of(bytes.begin(), bytes.end(),
                    [](std::byte one) { return one == std::byte{model::k_poison_byte}; }));
  CHECK(wrong_after(world, Collective::all_reduce, 0) == 0); // and goes on working
}

TEST_CASE("a group that never began cannot end") {
  NCCLPROBE_NEEDS_GPUS(1);
  auto backend = contract::contract_subject().make({});

  CHECK_THROWS_AS(backend->group_end(), base::Exception);
}

TEST_CASE("the largest value over ranks is exact, negative or not") {
  NCCLPROBE_NEEDS_GPUS(1);
  World world(contract::contract_subject(), gpus_to_use());

  CHECK(world.backend().max_over_ranks(all_of(world), 0.1) == 0.1);
  CHECK(world.backend().max_over_ranks(all_of(world), -3e9) == -3e9);
}

TEST_CASE("ranks of several hosts, which share no memory, meet by messages") {
  NCCLPROBE_NEEDS_GPUS(2);
  contract::ContractSubject apart = contract::contract_subject();
  apart.make = [](backend::Options options) {
    std::iota(options.host_of_rank.begin(), options.host_of_rank.end(), 0);
    return nvidia::make_backend(options);
  };
  World world(apart, gpus_to_use());

  CHECK(world.backend().max_over_ranks(all_of(world), 0.1) == 0.1);
  CHECK(world.backend().max_over_ranks(all_of(world), -3e9) == -3e9);
}

TEST_CASE(
    "NCCL's refusal carries the call, its words and the place, and does not hang what follows") {
  NCCLPROBE_NEEDS_GPUS(1);
  World world(contract::contract_subject(), gpus_to_use());
  auto buffer = world.device(0).allocate(4096);
  backend::CollectiveCall no_such_root{Collective::broadcast, {*buffer, 0},  {*buffer, 0}, 16,
                                       DataType::f32,         ReduceOp::sum, 1000};
  try {
    world.communicator(0).enqueue(no_such_root, world.stream(0));
    FAIL("a broadcast from rank 1000 was enqueued");
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::failed);
    CHECK_THAT(error.what(), ContainsSubstring("ncclBroadcast(") &&
                                 ContainsSubstring("invalid argument") &&
                                 ContainsSubstring("communicator.cpp"));
  }
}
