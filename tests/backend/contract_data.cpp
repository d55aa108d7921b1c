// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Memory: only for backends that move data.

#include "backend/contract_case.h"
#include "support/catch.h"

#include <array>

namespace ncclprobe::contract {
namespace {

using model::Collective;
using model::DataType;
using model::Placement;
using model::ReduceOp;

TEST_CASE("one wrong element is found, with its place and its bits") {
  NCCLPROBE_CONTRACT(subject, 2);
  World world(subject, 2);
  if (!world.backend().moves_data())
    NCCLPROBE_SKIP("the backend moves no data");
  CaseRun run(
      world, {Collective::all_reduce, DataType::i32, ReduceOp::sum, Placement::out_of_place, 1007});
  run.enqueue();
  world.wait();
  const std::int32_t wrong = 123456789;

  run.receive(1).buffer.write(17 * sizeof wrong, std::as_bytes(std::span(&wrong, 1)));
  backend::Mismatch found = run.compare(1);

  CHECK(found.elements == 1007);
  CHECK(found.wrong == 1);
  CHECK(found.first == 17);
  CHECK(found.first_bits == 123456789);
  CHECK(run.compare(0).wrong == 0);
}

TEST_CASE("poison is wrong in every type") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  if (!world.backend().moves_data())
    NCCLPROBE_SKIP("the backend moves no data");
  for (const auto& [type, name] : enum_names(DataType{})) {
    for (const auto& [op, op_name] : enum_names(ReduceOp{})) {
      model::Pattern pattern =
          model::pattern_for(k_contract_seed, Collective::all_reduce, type, op, 3);
      auto expected = model::expectation_for(Collective::all_reduce, op, 0, 1007, 0, 3);
      auto buffer = world.device(0).allocate(1007 * model::size_bytes(type));

      buffer->poison();
      backend::Mismatch found = buffer->compare(0, type, pattern, expected);

      INFO(name << " " << op_name);
      CHECK(found.wrong == 1007);
      CHECK(found.first == 0);
    }
  }
}

TEST_CASE("what was written is read back, at an offset") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  if (!world.backend().moves_data())
    NCCLPROBE_SKIP("the backend moves no data");
  auto buffer = world.device(0).allocate(100);
  buffer->poison();
  std::array<std::byte, 3> in{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 5> out{};

  buffer->write(96, in);
  buffer->read(95, out);

  CHECK(buffer->size_bytes() == 100);
  CHECK(out == std::array<std::byte, 5>{std::byte{0xFF}, std::byte{1}, std::byte{2}, std::byte{3},
                                        std::byte{0xFF}});
}

TEST_CASE("work of one stream runs in the order in which it was enqueued") {
  NCCLPROBE_CONTRACT(subject, 1);
  World world(subject, 1);
  if (!world.backend().moves_data())
    NCCLPROBE_SKIP("the backend moves no data");
  auto& stream = world.stream(0);
  auto buffer = world.device(0).allocate(8);
  buffer->poison();
  std::array<std::uint8_t, 2> start{1, 2};
  buffer->write(0, std::as_bytes(std::span(start)));

  for (std::uint64_t i = 0; i < 6; ++i)
    stream.copy({{*buffer, i}, {*buffer, i + 2}, 1});
  stream.mark("all copied");
  World::wait(stream);

  std::array<std::uint8_t, 8> values{};
  buffer->read(0, std::as_writable_bytes(std::span(values)));
  CHECK(values == std::array<std::uint8_t, 8>{1, 2, 1, 2, 1, 2, 1, 2});
}

} // namespace
} // namespace ncclprobe::contract
