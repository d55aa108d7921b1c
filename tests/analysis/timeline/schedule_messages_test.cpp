// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/schedule_messages.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::model;

namespace {

SendOp send_to(Peer to, std::uint64_t count = 4, int stream = 0) {
  return {.stream = stream, .count = count, .to = to};
}
RecvOp receive_from(Peer from, std::uint64_t count = 4, int stream = 0) {
  return {.stream = stream, .count = count, .from = from};
}
constexpr Peer rank(int value) {
  return {Peer::Kind::absolute, value};
}
constexpr Peer next(int distance) {
  return {Peer::Kind::relative, distance};
}

Schedule schedule_of(std::vector<Operation> operations, std::vector<int> ranks = {}) {
  Schedule schedule;
  schedule.communicators = {{"pair", std::move(ranks)}};
  schedule.operations = std::move(operations);
  schedule.timed = {0, static_cast<int>(schedule.operations.size())};
  return schedule;
}

} // namespace

TEST_CASE("Both sides of a message have communicator, ranks and number in common") {
  // Ranks 5 and 7: 5 sends twice, 7 once back.
  auto schedule = schedule_of({{send_to(rank(1)), {5}},
                               {receive_from(rank(0)), {7}},
                               {send_to(rank(1), 8), {5}},
                               {receive_from(rank(0), 8), {7}},
                               {send_to(rank(0)), {7}},
                               {receive_from(rank(1)), {5}}},
                              {5, 7});

  auto sides = message_sides(schedule, 8);

  REQUIRE(sides.size() == 6);
  for (std::size_t i = 0; i < 6; i += 2) {
    const MessageSide &send = sides[i], &receive = sides[i + 1];
    CHECK(send.sends);
    CHECK_FALSE(receive.sends);
    CHECK(send.from == receive.from);
    CHECK(send.to == receive.to);
    CHECK(send.number == receive.number);
    CHECK(send.bytes == receive.bytes);
    CHECK(send.rank == send.from);
    CHECK(receive.rank == receive.to);
    CHECK(send.launched_with == send.operation);
  }
  CHECK(sides[0].from == 5);
  CHECK(sides[0].to == 7);
  CHECK(sides[2].number == 1);
  CHECK(sides[2].bytes == 32);
  CHECK(sides[4].number == 0);
}

TEST_CASE("A group's end launches what is in it, and empty messages are none") {
  auto schedule = schedule_of({{GroupBeginOp{}, {}},
                               {send_to(next(1)), {}},
                               {receive_from(next(-1)), {}},
                               {send_to(next(1), 0), {}},
                               {receive_from(next(-1), 0), {}},
                               {GroupEndOp{}, {}}});

  auto sides = message_sides(schedule, 3);

  REQUIRE(sides.size() == 6);
  for (const MessageSide& side : sides)
    CHECK(side.launched_with == 5);
  CHECK(sides[2].from == 2);
  CHECK(sides[2].to == 0);
  auto kernels = messages_by_launch(schedule, sides);
  REQUIRE(kernels.size() == 3);
  REQUIRE(kernels.at({5, 0}).size() == 1);
  CHECK(kernels.at({5, 0}).front().size() == 2);
}

TEST_CASE("A graph has a kernel for each of its groups, in their order") {
  auto schedule = schedule_of({{SpinOp{}, {}},
                               {send_to(rank(1)), {0}},
                               {receive_from(rank(0)), {1}},
                               {GroupBeginOp{}, {}},
                               {send_to(rank(0)), {1}},
                               {receive_from(rank(1)), {0}},
                               {GroupEndOp{}, {}}});
  schedule.capture = schedule.timed;

  auto kernels = messages_by_launch(schedule, message_sides(schedule, 2));

  REQUIRE(kernels.size() == 2);
  REQUIRE(kernels.at({0, 0}).size() == 2);
  CHECK(kernels.at({0, 0})[0].front().operation == 1);
  CHECK(kernels.at({0, 0})[1].front().operation == 5);
}

TEST_CASE("What a group does on several streams is in kernels that nobody tells apart") {
  auto schedule = schedule_of({{GroupBeginOp{}, {}},
                               {send_to(rank(1), 4, 0), {0}},
                               {receive_from(rank(0), 4, 1), {1}},
                               {send_to(rank(0), 4, 0), {1}},
                               {receive_from(rank(1), 4, 0), {0}},
                               {GroupEndOp{}, {}}});

  auto kernels = messages_by_launch(schedule, message_sides(schedule, 2));

  CHECK(kernels.contains({5, 0}));
  CHECK_FALSE(kernels.contains({5, 1}));
}
