// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Order: streams, events, messages between two ranks, and the barrier of all ranks.

#include "backend/contract_world.h"
#include "support/byte_pattern.h"
#include "support/catch.h"

#include <algorithm>
#include <vector>

namespace ncclprobe::contract {
namespace {

using model::Collective;
using model::DataType;
using model::ReduceOp;

constexpr std::uint64_t k_ms = 1'000'000;
constexpr std::uint64_t k_long_spin_ns =
    600 * k_ms; // loaded machines keep threads waiting for long

TEST_CASE("a stream that has nothing to do is idle") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);

  CHECK(world.stream(0).idle());
}

TEST_CASE("a stream is busy until its work is done, and the clock has gone on by as much") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& stream = world.stream(0);
  std::int64_t start = world.backend().now_ns();

  stream.spin(k_long_spin_ns);
  bool idle_at_once = stream.idle();
  World::wait(stream);

  if (world.backend().moves_data())
    CHECK_FALSE(idle_at_once); // a virtual clock jumps to the end
  CHECK(world.backend().now_ns() - start >= static_cast<std::int64_t>(k_long_spin_ns) * 9 / 10);
  CHECK(stream.idle());
}

TEST_CASE("a load keeps its stream busy as long as asked") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& device = world.device(0);
  auto& stream = world.stream(0);
  stream.prepare_load();

  for (const std::uint64_t ns : {k_ms / 50, 20 * k_ms}) { // shorter than a product, and many
    auto begin = device.create_event(backend::EventUse::time);
    auto end = device.create_event(backend::EventUse::time);
    stream.record(*begin);
    stream.load(ns);
    stream.record(*end);
    World::wait(stream);

    const std::int64_t took_ns = device.elapsed_ns(*begin, *end);
    CHECK(took_ns >= static_cast<std::int64_t>(ns) * 9 / 10);
    if (!world.backend().moves_data())
      CHECK(took_ns == static_cast<std::int64_t>(ns));
  }
}

TEST_CASE("two streams overlap: a short one ends while a long one that began earlier still runs") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& longer = world.stream(0, 0);
  auto& shorter = world.stream(0, 1);
  std::int64_t start = world.backend().now_ns();

  longer.spin(k_long_spin_ns);
  shorter.spin(k_ms);
  World::wait(shorter);
  bool longer_done = world.backend().moves_data() && longer.idle();
  std::int64_t shorter_ns = world.backend().now_ns() - start;
  World::wait(longer);
  std::int64_t both_ns = world.backend().now_ns() - start;

  CHECK_FALSE(longer_done);
  CHECK(shorter_ns < static_cast<std::int64_t>(k_long_spin_ns));
  if (!world.backend().moves_data())
    CHECK(both_ns == static_cast<std::int64_t>(k_long_spin_ns));
}

TEST_CASE("an event makes one stream wait for another") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& writer = world.stream(0, 0);
  auto& reader = world.stream(0, 1);
  auto& device = world.device(0);
  auto source = device.allocate(4096);
  auto middle = device.allocate(4096);
  auto target = device.allocate(4096);
  middle->poison();
  target->poison();
  constexpr model::Pattern pattern = support::k_byte_pattern;
  source->fill(0, DataType::u8, pattern, 0, 4096);
  auto written = device.create_event(backend::EventUse::order);
  std::int64_t start = world.backend().now_ns();

  writer.spin(100 * k_ms);
  writer.copy({{*source, 0}, {*middle, 0}, 4096});
  writer.record(*written);
  reader.wait(*written);
  reader.copy({{*middle, 0}, {*target, 0}, 4096});
  World::wait(reader);

  CHECK(world.backend().now_ns() - start >= static_cast<std::int64_t>(90 * k_ms));
  if (world.backend().moves_data())
    CHECK(target->compare(0, DataType::u8, pattern, {false, ReduceOp::sum, 1, 0, 0, 4096, 4096})
              .wrong == 0);
}

TEST_CASE(
    "events for timing tell how long the work between them took, whatever order they are in") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& device = world.device(0);
  auto& stream = world.stream(0, 0);
  auto& other = world.stream(0, 1);
  auto begin = device.create_event(backend::EventUse::time);
  auto end = device.create_event(backend::EventUse::time);
  auto at_once = device.create_event(backend::EventUse::time);
  constexpr auto k_spin_ns = static_cast<std::int64_t>(50 * k_ms);

  for (int round = 0; round < 2; ++round) { // the latest record counts
    stream.record(*begin);
    stream.spin(k_spin_ns);
    stream.record(*end);
    other.record(*at_once);
    world.wait();

    CHECK(device.elapsed_ns(*begin, *end) >= k_spin_ns * 9 / 10);
    CHECK(device.elapsed_ns(*end, *begin) == -device.elapsed_ns(*begin, *end));
    if (!world.backend().moves_data())
      CHECK(device.elapsed_ns(*begin, *end) == k_spin_ns);
    CHECK(device.elapsed_ns(*begin, *at_once) <= device.elapsed_ns(*begin, *end));
  }
}

TEST_CASE("a pool of events for timing tells when two streams came to each of many marks") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& device = world.device(0);
  constexpr int k_steps = 50;
  constexpr auto k_spin_ns = static_cast<std::int64_t>(k_ms);
  std::vector<std::unique_ptr<backend::Event>> begins;
  std::vector<std::unique_ptr<backend::Event>> ends;
  auto ready = device.create_event(backend::EventUse::order);
  for (int step = 0; step < k_steps; ++step)
    for (auto* pool : {&begins, &ends})
      pool->push_back(device.create_event(backend::EventUse::time));

  for (std::size_t step = 0; step < k_steps; ++step) { // the host is far ahead
    world.stream(0, 0).record(*begins[step]);
    world.stream(0, 0).spin(k_spin_ns);
    world.stream(0, 0).record(*ready);
    world.stream(0, 1).wait(*ready);
    world.stream(0, 1).record(*ends[step]);
  }
  world.wait();

  std::int64_t before_ns = -1;
  for (std::size_t step = 0; step < k_steps; ++step) {
    INFO("step " << step);
    CHECK(device.elapsed_ns(*begins[step], *ends[step]) >= k_spin_ns * 9 / 10);
    std::int64_t at_ns = device.elapsed_ns(*begins[0], *begins[step]);
    CHECK(at_ns > before_ns);
    CHECK(at_ns >= static_cast<std::int64_t>(step) * k_spin_ns * 9 / 10);
    before_ns = at_ns;
  }
}

TEST_CASE("a wait is for the latest record before it, and for nothing if there was none") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& first = world.stream(0, 0);
  auto& second = world.stream(0, 1);
  auto event = world.device(0).create_event(backend::EventUse::order);

  second.wait(*event);
  World::wait(second); // would hang if an event had to be recorded first
  first.record(*event);
  second.wait(*event);
  World::wait(second);
  first.spin(k_long_spin_ns);
  first.record(*event); // after the second stream's wait: does not hold it
  std::int64_t before = world.backend().now_ns();
  World::wait(second);
  std::int64_t after = world.backend().now_ns();

  CHECK(after - before < static_cast<std::int64_t>(k_long_spin_ns));
  World::wait(first);
}

// The neighbour ring: each rank sends to the next, all in one group, sends first.
void run_ring(World& world, std::uint64_t count, DataType type) {
  int n = world.ranks();
  model::Pattern pattern = model::pattern_for(3, Collective::send_recv, type, ReduceOp::sum, n);
  std::vector<std::unique_ptr<backend::Buffer>> from;
  std::vector<std::unique_ptr<backend::Buffer>> into;
  for (int rank = 0; rank < n; ++rank) {
    from.push_back(world.device(rank).allocate(count * model::size_bytes(type)));
    into.push_back(world.device(rank).allocate(count * model::size_bytes(type)));
    from.back()->fill(0, type, pattern, rank, count);
    into.back()->poison();
  }

  world.on_all_ranks([&](int rank) {
    auto r = static_cast<std::size_t>(rank);
    world.communicator(rank).send({*from[r], 0}, count, type, (rank + 1) % n, world.stream(rank));
    world.communicator(rank).receive({*into[r], 0}, count, type, (rank + n - 1) % n,
                                     world.stream(rank));
  });
  world.wait();

  if (!world.backend().moves_data())
    return;
  for (int rank = 0; rank < n; ++rank) {
    auto expected = model::expectation_for(Collective::send_recv, ReduceOp::sum, 0, count, rank, n);
    INFO("rank " << rank << " of " << n << " " << model::to_string(type) << " count " << count);
    CHECK(into[static_cast<std::size_t>(rank)]->compare(0, type, pattern, expected).wrong == 0);
  }
}

TEST_CASE("the ring of sends and receives in one group delivers to the next rank") {
  NCCLPROBE_CONTRACT(subject, 1);
  for (int ranks : {1, 2, 3, 4}) {
    if (ranks > subject.devices)
      break;
    World world(subject, ranks);
    for (const auto& [type, name] : enum_names(DataType{}))
      for (std::uint64_t count : {0, 1, 3, 1007})
        run_ring(world, count, type);
    run_ring(world, 1'000'003, DataType::f32);
  }
}

TEST_CASE("messages of two ranks arrive in order, and others need not take part") {
  NCCLPROBE_CONTRACT(subject, 3);
  World world(subject, 3);
  constexpr model::Pattern pattern = support::k_byte_pattern;
  auto first = world.device(0).allocate(100);
  auto second = world.device(0).allocate(100);
  first->fill(0, DataType::u8, pattern, 0, 100);
  second->fill(0, DataType::u8, pattern, 1, 100);
  auto into = world.device(2).allocate(200);
  into->poison();

  world.backend().group_begin();
  world.communicator(0).send({*first, 0}, 100, DataType::u8, 2, world.stream(0));
  world.communicator(0).send({*second, 0}, 100, DataType::u8, 2, world.stream(0));
  world.communicator(2).receive({*into, 0}, 100, DataType::u8, 0, world.stream(2));
  world.communicator(2).receive({*into, 100}, 100, DataType::u8, 0, world.stream(2));
  world.backend().group_end();
  world.wait();

  if (!world.backend().moves_data())
    return;
  CHECK(into->compare(0, DataType::u8, pattern, {false, ReduceOp::sum, 1, 0, 0, 100, 200}).wrong ==
        0);
}

TEST_CASE("all ranks exchange with all others in one group") {
  NCCLPROBE_CONTRACT(subject, 2);
  int n = std::min(4, subject.devices);
  World world(subject, n);
  constexpr std::uint64_t k_count = 50'000;
  model::Pattern pattern =
      model::pattern_for(9, Collective::all_to_all, DataType::f32, ReduceOp::sum, n);
  std::vector<std::unique_ptr<backend::Buffer>> from;
  std::vector<std::unique_ptr<backend::Buffer>> into;
  for (int rank = 0; rank < n; ++rank) {
    from.push_back(world.device(rank).allocate(static_cast<std::uint64_t>(n) * k_count * 4));
    into.push_back(world.device(rank).allocate(static_cast<std::uint64_t>(n) * k_count * 4));
    from.back()->fill(0, DataType::f32, pattern, rank, static_cast<std::uint64_t>(n) * k_count);
    into.back()->poison();
  }

  world.on_all_ranks([&](int rank) {
    for (int peer = 0; peer < n; ++peer) {
      auto r = static_cast<std::size_t>(rank);
      std::uint64_t offset = static_cast<std::uint64_t>(peer) * k_count * 4;
      world.communicator(rank).send({*from[r], offset}, k_count, DataType::f32, peer,
                                    world.stream(rank));
      world.communicator(rank).receive({*into[r], offset}, k_count, DataType::f32, peer,
                                       world.stream(rank));
    }
  });
  world.wait();

  if (!world.backend().moves_data())
    return;
  for (int rank = 0; rank < n; ++rank) {
    auto expected =
        model::expectation_for(Collective::all_to_all, ReduceOp::sum, 0, k_count, rank, n);
    CHECK(
        into[static_cast<std::size_t>(rank)]->compare(0, DataType::f32, pattern, expected).wrong ==
        0);
  }
}

TEST_CASE("the largest value over all ranks is what the ranks of one process give") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);
  std::vector<backend::Communicator*> members{&world.communicator(0), &world.communicator(1)};

  CHECK(world.backend().max_over_ranks(members, 2.5) == 2.5);
  CHECK(world.backend().max_over_ranks(members, -1) == -1);
}

TEST_CASE("a communicator without trouble says so") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);

  CHECK(world.communicator(0).rank() == 0);
  CHECK(world.communicator(1).rank() == 1);
  CHECK(world.communicator(1).size() == 2);
  CHECK_NOTHROW(world.communicator(0).check());
}

} // namespace
} // namespace ncclprobe::contract
