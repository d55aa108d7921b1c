// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Features that a backend may refuse as unsupported, and their contract otherwise: graphs, and
// memory that is registered with communicators.

#include "backend/contract_case.h"
#include "base/split.h"
#include "model/in_process.h"
#include "support/byte_pattern.h"
#include "support/catch.h"

#include <algorithm>

namespace ncclprobe::contract {
namespace {

using model::Collective;
using model::DataType;
using model::Placement;
using model::ReduceOp;

// False if the backend says that it cannot do this; the test then ends without a claim.
template <typename Act>
bool supported(Act act) {
  try {
    act();
    return true;
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::unsupported);
    CHECK_FALSE(error.error().message.empty());
    return false;
  }
}

std::vector<std::vector<backend::Stream*>> streams_of(World& world, int count) {
  std::vector<std::vector<backend::Stream*>> all;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    all.emplace_back();
    for (int index = 0; index < count; ++index)
      all.back().push_back(&world.stream(rank, index));
  }
  return all;
}

} // namespace

TEST_CASE("data comes to the device from whatever memory of the host there is") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& device = world.device(0);
  constexpr model::Pattern pattern = support::k_byte_pattern;
  for (model::Memory memory : {model::Memory::pinned_host, model::Memory::pageable_host}) {
    std::unique_ptr<backend::Buffer> source;
    if (!supported([&] { source = device.allocate_on_host(4096, memory); }))
      continue;
    auto target = device.allocate(4096);
    source->fill(0, DataType::u8, pattern, 0, 4096);
    target->poison();

    world.stream(0).copy({{*source, 0}, {*target, 0}, 4096});
    world.wait();

    INFO(to_string(memory));
    if (world.backend().moves_data())
      CHECK(target->compare(0, DataType::u8, pattern, {false, ReduceOp::sum, 1, 0, 0, 4096, 4096})
                .wrong == 0);
  }
}

TEST_CASE("a captured collective does nothing at first, and its work at each replay") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);
  CaseRun run(
      world, {Collective::all_reduce, DataType::f32, ReduceOp::sum, Placement::out_of_place, 1007});
  run.enqueue(); // connections are made
  world.wait();
  auto streams = streams_of(world, 1);

  std::unique_ptr<backend::Graph> graph;
  if (!supported([&] { graph = world.backend().capture(streams, [&] { run.enqueue(); }); }))
    return;
  for (int replay = 0; replay < 3; ++replay) {
    for (int rank = 0; rank < world.ranks(); ++rank)
      run.receive(rank).buffer.poison();
    if (replay == 0)
      CHECK(run.compare(0).wrong == 1007);
    graph->launch();
    world.wait();
    run.require_right();
  }
}

TEST_CASE("a replayed graph keeps the order of all its streams") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& device = world.device(0);
  auto& first = world.stream(0, 0);
  auto& second = world.stream(0, 1);
  auto source = device.allocate(64);
  auto middle = device.allocate(64);
  auto target = device.allocate(64);
  auto handed_over = device.create_event(backend::EventUse::order);
  constexpr model::Pattern pattern = support::k_byte_pattern;
  auto streams = streams_of(world, 2);

  std::unique_ptr<backend::Graph> graph;
  if (!supported([&] {
        graph = world.backend().capture(streams, [&] {
          second.spin(20'000'000);
          second.copy({{*source, 0}, {*middle, 0}, 64});
          second.record(*handed_over);
          first.wait(*handed_over);
          first.copy({{*middle, 0}, {*target, 0}, 64});
        });
      }))
    return;
  source->fill(0, DataType::u8, pattern, 0, 64);
  target->poison();
  auto late = device.allocate(64);
  graph->launch();
  second.copy({{*target, 0}, {*late, 0}, 64}); // after the graph, although on another stream
  world.wait();

  CHECK(late->compare(0, DataType::u8, pattern, {false, ReduceOp::sum, 1, 0, 0, 64, 64}).wrong ==
        0);
}

TEST_CASE("an event for timing that was captured tells of the latest replay") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto& device = world.device(0);
  auto& stream = world.stream(0);
  auto before = device.create_event(backend::EventUse::time);
  auto begin = device.create_event(backend::EventUse::time);
  auto end = device.create_event(backend::EventUse::time);
  constexpr std::int64_t k_spin_ns = 20'000'000;
  auto streams = streams_of(world, 1);

  std::unique_ptr<backend::Graph> graph;
  if (!supported([&] {
        graph = world.backend().capture(streams, [&] {
          stream.record(*begin);
          stream.spin(k_spin_ns);
          stream.record(*end);
        });
      }))
    return;
  stream.record(*before);
  for (std::int64_t replay = 0; replay < 3; ++replay) {
    graph->launch();
    world.wait();

    CHECK(device.elapsed_ns(*begin, *end) >= k_spin_ns * 9 / 10);
    CHECK(device.elapsed_ns(*before, *begin) >= replay * k_spin_ns * 9 / 10);
  }
}

TEST_CASE("a capture that fails leaves its streams as they were") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  auto streams = streams_of(world, 1);

  CHECK_THROWS(world.backend().capture(streams, [&] {
    world.stream(0).spin(1000);
    base::raise(base::Errc::unsupported, "planted refusal");
  }));
  world.stream(0).spin(1000);
  world.wait();

  CHECK(world.stream(0).idle());
}

TEST_CASE("settings that the backend does not have are refused by name, and change nothing") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);

  CHECK_NOTHROW(world.backend().apply({}));
  try {
    world.backend().apply({{"no_such_setting", "1"}});
    FAIL("nothing was thrown");
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::unsupported);
    CHECK_THAT(error.error().message, ContainsSubstring("no_such_setting"));
  }
}

TEST_CASE("data is right with each in-process setting that the backend has") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);
  for (const model::InProcessSetting& setting :
       model::in_process_settings(world.backend().name())) {
    std::vector<std::string> values;
    if (setting.kind == model::InProcessSetting::Kind::words)
      for (std::string_view word : base::split(setting.words, ','))
        values.emplace_back(word);
    else
      values.push_back(std::to_string(std::max<std::uint64_t>(setting.least, 1)));
    for (const std::string& value : values) {
      if (setting.name == "fail") // breaks on purpose
        continue;
      if (!supported([&] { world.backend().apply({{std::string(setting.name), value}}); }))
        continue;
      CaseRun run(world, Case{});
      run.enqueue();
      world.wait();
      if (world.backend().moves_data())
        run.require_right();
    }
  }
  world.backend().apply({});
}

TEST_CASE("registered memory is refused, or works like any other") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);
  int n = world.ranks();
  constexpr std::uint64_t k_count = 100'003;
  model::Pattern pattern =
      model::pattern_for(k_contract_seed, Collective::all_reduce, DataType::f32, ReduceOp::sum, n);
  std::vector<std::unique_ptr<backend::Buffer>> send;
  std::vector<std::unique_ptr<backend::Buffer>> receive;
  std::vector<std::unique_ptr<backend::Registration>> registrations; // die before the buffers

  bool works = supported([&] {
    for (int rank = 0; rank < n; ++rank)
      for (auto* buffers : {&send, &receive}) {
        buffers->push_back(world.device(rank).allocate_registrable(k_count * 4));
        registrations.push_back(world.communicator(rank).register_buffer(*buffers->back()));
      }
  });
  if (!works)
    return;
  for (int rank = 0; rank < n; ++rank) {
    send[static_cast<std::size_t>(rank)]->fill(0, DataType::f32, pattern, rank, k_count);
    receive[static_cast<std::size_t>(rank)]->poison();
  }
  world.on_all_ranks([&](int rank) {
    auto r = static_cast<std::size_t>(rank);
    world.communicator(rank).enqueue({Collective::all_reduce,
                                      {*send[r], 0},
                                      {*receive[r], 0},
                                      k_count,
                                      DataType::f32,
                                      ReduceOp::sum,
                                      0},
                                     world.stream(rank));
  });
  world.wait();

  for (int rank = 0; rank < n; ++rank) {
    auto expected =
        model::expectation_for(Collective::all_reduce, ReduceOp::sum, 0, k_count, rank, n);
    CHECK(receive[static_cast<std::size_t>(rank)]
              ->compare(0, DataType::f32, pattern, expected)
              .wrong == 0);
  }
}

} // namespace ncclprobe::contract
