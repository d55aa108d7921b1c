// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/captured_calls.h"
#include "support/catch.h"

#include <cstring>

using namespace ncclprobe;
using namespace ncclprobe::analysis::hang;

namespace {

constexpr std::uint64_t k_ms = 1'000'000;

// A spool of one rank, in memory.
class Written {
public:
  Written(CapturedCalls& into, int rank, SpoolOrigin origin = {.boot = "boot"})
      : into_(into), rank_(rank) {
    into_.begin_file(std::move(origin));
  }
  trace::TextId text(const std::string& text) {
    into_.add({trace::Table::strings, -1, static_cast<std::uint32_t>(text.size()),
               std::as_bytes(std::span(text))});
    return {++texts_};
  }
  template <typename Row>
  void add(const Row& row) {
    into_.add({Row::k_table, rank_, 1, std::as_bytes(std::span(&row, 1))});
  }
  void communicator(std::uint16_t id, std::uint64_t hash, int ranks, int rank) {
    add(trace::CommunicatorRow{.hash = hash, .ranks = ranks, .rank = rank, .id = id});
  }
  // The id of the operation.
  std::uint32_t operation(const std::string& function, std::uint64_t sequence,
                          std::uint16_t communicator = 0) {
    trace::NcclOperationRow row;
    row.id = ++operations_;
    row.enqueue_ns = row.id * k_ms;
    row.enqueued_ns = row.enqueue_ns + 1;
    row.sequence = sequence;
    row.communicator = communicator;
    row.count = 256;
    row.function = text(function);
    row.data_type = text("ncclBfloat16");
    add(row);
    return row.id;
  }
  void channel(std::uint32_t operation, bool ends = true) {
    add(trace::NcclChannelRow{.start_ns = operation * k_ms + 2,
                              .stop_ns = ends ? operation * k_ms + 9 : 0,
                              .nccl_operation = operation});
  }
  void look(std::uint32_t operation, std::uint64_t at_ns, std::uint32_t channels = 1) {
    add(trace::NcclOpenRow{at_ns, operation, channels});
  }

private:
  CapturedCalls& into_;
  int rank_;
  std::uint32_t texts_ = 0, operations_ = 0;
};

std::vector<CallState> states_of(const Job& job, std::size_t rank = 0) {
  std::vector<CallState> states;
  for (const Call& call : job.ranks.at(rank).calls)
    states.push_back(call.state);
  return states;
}

using enum CallState;
using States = std::vector<CallState>;

} // namespace

TEST_CASE("operations are numbered over all functions, whatever was lost") {
  CapturedCalls calls;
  Written rank(calls, 0);
  rank.communicator(0, 42, 2, 1);
  rank.operation("AllReduce", 0);
  rank.operation("AllGather", 0);
  rank.operation("AllReduce", 3); // two were lost

  const Job job = calls.take();

  REQUIRE(job.ranks.at(0).calls.size() == 3);
  CHECK(job.ranks[0].calls[0].position == 0);
  CHECK(job.ranks[0].calls[1].position == 1);
  CHECK(job.ranks[0].calls[2].position == 4);
  CHECK(job.ranks[0].calls[1].function == "all_gather");
  CHECK(job.ranks[0].calls[1].data_type == "bfloat16");
  CHECK(job.ranks[0].calls[1].bytes == 512);
  CHECK(job.groups.at(0).ranks == std::vector<int>{-1, 0});
  CHECK(job.groups[0].name == "2a"); // it has no name of its own
}

TEST_CASE("only the newest operations are kept, with the numbers that they have among all") {
  CapturedCalls calls;
  Written rank(calls, 0);
  rank.communicator(0, 42, 2, 0);
  rank.operation("Broadcast", 0);
  for (std::uint64_t i = 0; i < k_most_calls + 10; ++i)
    rank.channel(rank.operation("AllReduce", i));

  const Job job = calls.take();

  REQUIRE(job.ranks.at(0).calls.size() == k_most_calls);
  CHECK(job.ranks[0].calls.back().position == k_most_calls + 10);
  CHECK(job.ranks[0].calls.back().state == ended);
}

TEST_CASE("captures of the newest operations agree on numbers") {
  CapturedCalls calls;
  Written first(calls, 0);
  first.communicator(0, 42, 2, 0);
  first.operation("AllReduce", 70);
  first.operation("AllGather", 30);
  first.operation("AllReduce", 71);
  Written second(calls, 1, {.boot = "boot", .process = 1});
  second.communicator(0, 42, 2, 1);
  second.operation("AllReduce", 71);

  const Job job = calls.take();

  CHECK(job.ranks.at(0).calls.at(2).position == 102);
  CHECK(job.ranks.at(1).calls.at(0).position == 102);
}

TEST_CASE("the state of an operation follows from its channels and from looks at it") {
  CapturedCalls calls;
  Written rank(calls, 0);
  rank.communicator(0, 42, 2, 0);
  rank.communicator(1, 43, 1, 0);
  rank.communicator(2, 44, 2, 0);
  rank.channel(rank.operation("AllReduce", 0));
  rank.operation("AllReduce", 1); // its report was lost
  const std::uint32_t slow = rank.operation("AllReduce", 2);
  rank.look(slow, (slow + 1) * k_ms);
  rank.add(trace::NcclChannelRow{.stop_ns = (slow + 2) * k_ms, .nccl_operation = slow});
  rank.look(rank.operation("AllReduce", 3), 3000 * k_ms);
  rank.operation("AllReduce", 4);
  rank.operation("AllReduce", 0, 1); // alone in its communicator
  rank.operation("AllGather", 0, 2); // never seen on the GPU

  const Job job = calls.take();

  CHECK(states_of(job) == States{ended, ended, ended, running, queued, ended, unknown});
  CHECK(job.ranks[0].known_until_ns == 3000 * k_ms);
}

TEST_CASE("an operation from which NCCL has not returned is the last one") {
  CapturedCalls calls;
  Written rank(calls, 0);
  rank.communicator(0, 42, 2, 0);
  rank.add(trace::NcclOperationRow{.enqueue_ns = 1, .id = 1});
  rank.channel(1);
  rank.add(trace::NcclOperationRow{.enqueue_ns = 2, .sequence = 1, .id = 2});
  rank.look(2, 2000 * k_ms, 0);
  CHECK(states_of(calls.take()) == States{ended, calling});
}

TEST_CASE("a level without channels says nothing about ends") {
  CapturedCalls calls;
  Written rank(calls, 0);
  rank.communicator(0, 42, 2, 0);
  rank.add(trace::FactRow{rank.text("level"), rank.text("operations")});
  rank.operation("AllReduce", 0);
  CHECK(states_of(calls.take()) == States{unknown});
}

TEST_CASE("the newest process of a rank counts, and a living one knows the time") {
  CapturedCalls calls;
  for (std::uint32_t process : {8u, 7u}) { // 8 is the newer one
    Written rank(calls, 5,
                 {.host = "node",
                  .boot = "boot",
                  .process = process,
                  .started_ns = process,
                  .state = ProcessState::alive,
                  .now_ns = 77'000'000'000});
    rank.communicator(0, process, 2, 0);
    rank.operation("AllReduce", process);
  }

  const Job job = calls.take();

  REQUIRE(job.ranks.size() == 1);
  CHECK(job.ranks[0].rank == 5);
  CHECK(job.ranks[0].process == 8);
  CHECK(job.ranks[0].known_until_ns == 77'000'000'000);
  CHECK(job.ranks[0].calls.at(0).number == 8);
  CHECK(job.remarks.size() == 1);
}
