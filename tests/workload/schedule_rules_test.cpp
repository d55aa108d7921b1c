// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/schedule_rules.h"

using namespace ncclprobe;
using namespace ncclprobe::model;

namespace {

// A valid all_reduce of 16 floats on two ranks, to be spoiled.
Schedule valid() {
  Schedule schedule;
  schedule.streams = {{"s"}};
  schedule.communicators = {{"world"}};
  schedule.buffers = {{"data", 64}};
  schedule.operations = {{CollectiveOp{Collective::all_reduce, 0, 0, {0}, {0}, 16}}};
  schedule.timed = {0, 1};
  return schedule;
}

Operation send(int to, std::uint64_t count, std::vector<int> ranks) {
  return {SendOp{0, 0, {0}, count, DataType::f32, {Peer::Kind::absolute, to}}, std::move(ranks)};
}
Operation receive(int from, std::uint64_t count, std::vector<int> ranks) {
  return {RecvOp{0, 0, {0}, count, DataType::f32, {Peer::Kind::absolute, from}}, std::move(ranks)};
}

std::string refusal(const Schedule& schedule) {
  auto checked = workload::check_schedule(schedule, 2);
  return checked ? "" : checked.error().message;
}

} // namespace

TEST_CASE("a sound schedule passes") {
  CHECK(refusal(valid()).empty());
}

TEST_CASE("what would corrupt memory is refused, naming operation and rank") {
  Schedule schedule = valid();

  SECTION("past the end of a buffer") {
    std::get<CollectiveOp>(schedule.operations[0].what).count = 17;
    CHECK_THAT(refusal(schedule),
               ContainsSubstring("operation 0 reaches byte 68 of buffer 'data', which has 64"));
  }
  SECTION("an offset that wraps around") {
    std::get<CollectiveOp>(schedule.operations[0].what).send.offset_bytes = UINT64_MAX - 3;
    CHECK_THAT(refusal(schedule), ContainsSubstring("operation 0 reaches"));
  }
  SECTION("a rank without the buffer") {
    schedule.buffers[0].bytes.exceptions[1] = 0;
    CHECK_THAT(refusal(schedule), ContainsSubstring("0 on rank 1"));
  }
  SECTION("no such buffer, stream or communicator") {
    std::get<CollectiveOp>(schedule.operations[0].what).send.buffer = 1;
    CHECK_THAT(refusal(schedule), ContainsSubstring("buffer 1"));
    schedule = valid();
    std::get<CollectiveOp>(schedule.operations[0].what).stream = 2;
    CHECK_THAT(refusal(schedule), ContainsSubstring("stream 2"));
    schedule = valid();
    std::get<CollectiveOp>(schedule.operations[0].what).communicator = -1;
    CHECK_THAT(refusal(schedule), ContainsSubstring("communicator -1"));
  }
}

TEST_CASE("a pointer chase stays within its buffers and goes in whole steps") {
  Schedule schedule;
  schedule.streams = {{"s"}};
  schedule.buffers = {{"chain", 4096}, {"position", 8}};
  schedule.operations = {{ChaseOp{0, 0, 1, {0}, 4096, 128, 100, {1}}}};
  schedule.timed = {0, 1};
  CHECK(refusal(schedule).empty());
  auto& chase = std::get<ChaseOp>(schedule.operations[0].what);

  SECTION("a rank that is not there") {
    chase.through_rank = 2;
    CHECK_THAT(refusal(schedule), ContainsSubstring("rank 2 of 2"));
  }
  SECTION("a chain that is too long") {
    chase.bytes = 8192;
    CHECK_THAT(refusal(schedule), ContainsSubstring("has 4096 on rank 1"));
  }
  SECTION("steps that cut a pointer or the chain") {
    chase.stride_bytes = GENERATE(0, 4, 12, 136);
    CHECK_THAT(refusal(schedule), ContainsSubstring("has a chain of 4096 bytes in steps"));
  }
  SECTION("no room for the result") {
    schedule.buffers[1].bytes = 7;
    CHECK_THAT(refusal(schedule), ContainsSubstring("reaches byte 8 of buffer 'position'"));
  }
}

TEST_CASE("what is computed stays within its buffers on every rank that computes") {
  Schedule schedule = valid();
  GemmOp gemm{0, {0}, {0}, {0}, 2, 2, 2, 4}; // 64 bytes each
  ConvertOp convert{0, {0}, {0}, 32, DataType::f16, DataType::f16};
  OptimizerOp optimizer{0, {0}, {0}, {0}, 8}; // 64 bytes of state
  auto refused = [&](auto operation) {
    schedule.operations = {{operation}};
    return refusal(schedule);
  };
  CHECK(refused(gemm).empty());
  CHECK(refused(convert).empty());
  CHECK(refused(optimizer).empty());

  SECTION("a factor or the product is too large") {
    gemm.k = 3;
    CHECK_THAT(refused(gemm), ContainsSubstring("reaches byte 96 of buffer 'data'"));
    gemm = {0, {0}, {0}, {0}, 5, 5, 1, 1};
    CHECK_THAT(refused(gemm), ContainsSubstring("reaches byte 100 of buffer 'data'"));
  }
  SECTION("no product") {
    gemm.batch = 0;
    CHECK_THAT(refused(gemm), ContainsSubstring("multiplies nothing"));
  }
  SECTION("wider elements than there is room for") {
    convert.into_type = DataType::f32;
    CHECK_THAT(refused(convert), ContainsSubstring("reaches byte 128"));
  }
  SECTION("no room for the moments") {
    optimizer.count = 9;
    CHECK_THAT(refused(optimizer), ContainsSubstring("reaches byte 72"));
  }
  SECTION("a type that nobody computes with") {
    gemm.type = DataType::i32;
    CHECK_THAT(refused(gemm), ContainsSubstring("computes with i32"));
  }
  SECTION("a rank without the buffer, unless it looks on") {
    schedule.buffers[0].bytes.exceptions[1] = 0;
    CHECK_THAT(refused(gemm), ContainsSubstring("0 on rank 1"));
    schedule.operations[0].ranks = {0};
    CHECK(refusal(schedule).empty());
  }
}

TEST_CASE("data of some ranks alone is looked for on them, and needs no communicator") {
  Schedule schedule = valid();
  schedule.communicators.clear();
  schedule.operations = {{CopyOp{0, 0, {0}, 0, {0}, 64}}};
  schedule.buffers[0].bytes.exceptions[1] = 0;
  schedule.fills = {{k_all_ranks, {0}, 16}};
  schedule.checks = {{Collective::broadcast, k_all_ranks, {0}, 16}};
  CHECK_THAT(refusal(schedule), ContainsSubstring("0 on rank 1"));

  schedule.fills[0].ranks = {0};
  CHECK_THAT(refusal(schedule), ContainsSubstring("0 on rank 1"));

  schedule.checks[0].ranks = {0};
  CHECK(refusal(schedule).empty());

  schedule.checks[0].ranks = {2};
  CHECK_THAT(refusal(schedule), ContainsSubstring("rank 2 of 2"));
}

TEST_CASE("what would hang is refused") {
  Schedule schedule = valid();

  SECTION("a rank left out of a collective") {
    schedule.operations[0].ranks = {0};
    CHECK_THAT(refusal(schedule), ContainsSubstring("leaves rank 1 out"));
  }
  SECTION("a send that nobody receives") {
    schedule.operations.push_back(send(1, 4, {0}));
    CHECK_THAT(refusal(schedule), ContainsSubstring("send from rank 0 to rank 1"));
  }
  SECTION("a receive of another length") {
    schedule.operations.push_back(send(1, 4, {0}));
    schedule.operations.push_back(receive(0, 5, {1}));
    CHECK_THAT(refusal(schedule), ContainsSubstring("5 elements of f32 against 4"));
  }
  SECTION("an open group, a nested one, an end without a beginning") {
    schedule.operations.push_back({GroupBeginOp{}});
    CHECK_THAT(refusal(schedule), ContainsSubstring("never ended"));
    schedule.operations.push_back({GroupBeginOp{}});
    CHECK_THAT(refusal(schedule), ContainsSubstring("inside a group"));
    schedule = valid();
    schedule.operations.push_back({GroupEndOp{}});
    CHECK_THAT(refusal(schedule), ContainsSubstring("not begun"));
  }
  SECTION("waiting for an event that nothing records") {
    schedule.operations.push_back({WaitEventOp{0, 7}});
    CHECK_THAT(refusal(schedule), ContainsSubstring("event 7"));
  }
  SECTION("a timed region that cuts a group or is empty") {
    schedule.operations = {{GroupBeginOp{}}, send(1, 4, {0}), receive(0, 4, {1}), {GroupEndOp{}}};
    schedule.timed = {1, 4};
    CHECK_THAT(refusal(schedule), ContainsSubstring("cuts a group"));
    schedule.timed = {2, 2};
    CHECK_THAT(refusal(schedule), ContainsSubstring("timed region"));
  }
}

TEST_CASE("matching sends and receives pass, by pairs and in a relative ring") {
  Schedule schedule = valid();
  schedule.operations = {send(1, 4, {0}), receive(0, 4, {1})};
  schedule.timed = {0, 2};
  CHECK(refusal(schedule).empty());

  schedule.operations = {{GroupBeginOp{}},
                         {SendOp{0, 0, {0}, 4, DataType::f32, {Peer::Kind::relative, 1}}},
                         {RecvOp{0, 0, {0}, 4, DataType::f32, {Peer::Kind::relative, -1}}},
                         {GroupEndOp{}}};
  schedule.timed = {0, 4};
  CHECK(refusal(schedule).empty());
}

TEST_CASE("a communicator names ranks of the world, each once") {
  Schedule schedule = valid();
  schedule.communicators.push_back({"sub", {0, 0}});
  CHECK_THAT(refusal(schedule), ContainsSubstring("communicator 1"));
  schedule.communicators[1].ranks = {2};
  CHECK_THAT(refusal(schedule), ContainsSubstring("communicator 1"));
  schedule.communicators[1].ranks = {1};
  CHECK(refusal(schedule).empty());
}

TEST_CASE("a communicator is split off one that is declared before it and has its ranks") {
  Schedule schedule = valid();
  schedule.communicators.push_back({"half", {1}, 0});
  CHECK(refusal(schedule).empty());
  schedule.communicators.push_back({"other half", {0}, 1});
  CHECK_THAT(refusal(schedule), ContainsSubstring("split off 1, which does not have rank 0"));
  schedule.communicators.back().parent = 2;
  CHECK_THAT(refusal(schedule), ContainsSubstring("is not before it"));
}

TEST_CASE("what is to be checked lies within its buffer") {
  Schedule schedule = valid();
  schedule.checks = {{Collective::all_reduce, 0, {0, 4}, 16}};

  CHECK_THAT(refusal(schedule), ContainsSubstring("reaches byte 68"));
}
