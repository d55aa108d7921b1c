// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/message_waits.h"
#include "analysis/timeline/timeline.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;
using trace::OperationKind;

namespace {

// A pipeline of two stages, one micro-batch, `steps` steps of 1000 ns. Stage 0 computes 0-200,
// sends 200-250, and waits for the gradients from 250 on; stage 1 receives from 0 on, computes
// 250-650, sends gradients 650-700; stage 0 computes 700-900.
constexpr int k_forward = 1, k_backward = 3;
std::vector<RankBuilder> pipeline(std::uint32_t steps) {
  std::vector<RankBuilder> ranks(2);
  for (std::uint32_t i = 0; i < steps; ++i) {
    auto base = 10'000 + 1000 * static_cast<std::int64_t>(i);
    StepKey step{0, 0, i};
    auto compute = [&](RankBuilder& rank, std::int64_t begin, std::int64_t end) {
      rank.compute({base + begin, base + end}, rank.operation(step, 0, OperationKind::compute));
    };
    auto transfer = [&](RankBuilder& rank, int index, std::int64_t begin, std::int64_t end) {
      rank.communicate({base + begin, base + end},
                       rank.operation(step, index, OperationKind::group), 1, k_send_recv_kernel);
    };
    compute(ranks[0], 0, 200);
    transfer(ranks[0], k_forward, 200, 250);
    transfer(ranks[0], k_backward, 250, 700);
    compute(ranks[0], 700, 900);
    transfer(ranks[1], k_forward, 0, 250);
    compute(ranks[1], 250, 650);
    transfer(ranks[1], k_backward, 650, 700);
  }
  return ranks;
}

std::vector<DeclaredTransfers> pipeline_transfers(int, int index, int rank) {
  bool forward = index == k_forward;
  return {{{.from = forward ? 0 : 1,
            .to = forward ? 1 : 0,
            .bytes = 64,
            .sends = rank == (forward ? 0 : 1)}}};
}

TraceSource pipeline_source(std::uint32_t steps) {
  TraceSource source = source_of(pipeline(steps));
  source.transfers = pipeline_transfers;
  return source;
}

// One kernel of rank 0 with sides of messages to ranks 1, 2, ..., whose kernels begin at the given
// times.
struct Kernel {
  Span own;
  struct Half {
    bool sends;
    Span theirs;
    int rank = 1;
  };
  std::vector<Half> halves;
  Clocks clocks{};

  std::optional<MessageWait> wait(RankMessages& into) const {
    MessageTable table;
    std::vector<MessageHalf> own_halves;
    for (std::size_t i = 0; i < halves.size(); ++i) {
      MessageHalf mine{.key = {1, i}, .sends = halves[i].sends, .amount = 8};
      MessageHalf theirs = mine;
      theirs.sends = !mine.sends;
      table.add(mine, own, 0);
      table.add(theirs, halves[i].theirs, halves[i].rank);
      own_halves.push_back(mine);
    }
    table.seal();
    return wait_of_kernel(table, clocks, 0, own_halves, {own.begin, own.end, own.begin, own.end},
                          {0, 0, 0}, 0, 1, into);
  }
};

Clocks two_hosts(std::uint64_t error_ns) {
  Clocks clocks;
  clocks.ranks[0] = {0, ClockModel{}, {}};
  clocks.ranks[1] = {1, steady_clock(0, error_ns), {}};
  return clocks;
}

} // namespace

TEST_CASE("A receive waits until its send has begun, and a send until its receive has") {
  RankMessages into;
  CHECK(Kernel{{100, 200}, {{false, {170, 200}}}}.wait(into)->ready_ns == 170);
  CHECK(Kernel{{100, 200}, {{true, {170, 200}}}}.wait(into)->ready_ns == 170);
  CHECK(Kernel{{100, 200}, {{true, {30, 200}}}}.wait(into)->ready_ns == 100); // it was there
  CHECK(into.cells[0].waited_for.at(1).kernels == 2);
  CHECK(into.cells[0].waited_for.at(1).wait.value_ns == 140);
  CHECK(into.physics.checked == 1);
  CHECK(into.physics.worst_margin_ns == 30);
}

TEST_CASE("A send that ended before its receive began has waited for nobody") {
  RankMessages into;
  CHECK(Kernel{{100, 120}, {{true, {170, 200}}}}.wait(into)->ready_ns == 100);
  CHECK(into.sent_ahead == 1);
  CHECK(into.cells[0].waited_for.empty());
  // Not so of a receive: there the clocks are wrong, and all of it was waiting.
  CHECK(Kernel{{100, 120}, {{false, {170, 200}}}}.wait(into)->ready_ns == 120);
  CHECK(into.physics.violations == 1);
  CHECK(into.physics.beyond_bound == 1);
  CHECK(into.physics.worst_margin_ns == -50);
}

TEST_CASE("A kernel of several messages waits for the last of the ranks that it needs") {
  RankMessages into;
  Kernel kernel{{100, 300}, {{true, {150, 300}, 1}, {false, {220, 300}, 2}, {true, {10, 300}, 3}}};
  CHECK(kernel.wait(into)->ready_ns == 220);
  REQUIRE(into.cells[0].waited_for.size() == 1);
  CHECK(into.cells[0].waited_for.at(2).wait.value_ns == 120);
  CHECK(into.cells[0].waited_for.at(2).delay.value_ns == 70); // rank 1 came at 150
  CHECK(into.halves[static_cast<std::size_t>(MatchState::matched)] == 3);
  CHECK(into.kernels == 1);

  // Two messages with the same rank are one wait.
  RankMessages both;
  Kernel there_and_back{{100, 300}, {{true, {150, 300}, 1}, {false, {150, 300}, 1}}};
  CHECK(there_and_back.wait(both)->ready_ns == 150);
  CHECK(both.cells[0].waited_for.at(1).kernels == 1);
  CHECK(both.cells[0].waited_for.at(1).delay.value_ns == 50);
}

TEST_CASE("A kernel with a half that met nobody waits for an unknown time") {
  RankMessages into;
  MessageTable table;
  MessageHalf send{.key = {1, 0}, .sends = true, .amount = 8, .peer = 1, .number = 3};
  table.add(send, {100, 200}, 0);
  table.seal();
  std::vector<MessageHalf> halves{send};

  CHECK_FALSE(wait_of_kernel(table, {}, 0, halves, {100, 200, 100, 200}, {0, 2, 5}, 0, 1, into));

  CHECK(into.unmatched_halves() == 1);
  REQUIRE(into.unmatched.size() == 1);
  const UnmatchedHalf& half = into.unmatched[0];
  CHECK(half.match == MatchState::alone);
  CHECK(half.sends);
  CHECK(half.rank == 0);
  CHECK(half.peer == 1);
  CHECK(half.number == 3);
  CHECK(half.step == StepKey{0, 2, 5});
}

TEST_CASE("Below twice the clocks' error nobody is waited for") {
  RankMessages into;
  auto wait = Kernel{{100, 200}, {{false, {170, 200}}}, two_hosts(36)}.wait(into);
  CHECK(wait->ready_ns == 170);
  CHECK(wait->error_ns == 36);
  CHECK(into.cells[0].waited_for.empty());
  wait = Kernel{{100, 200}, {{false, {172, 200}}}, two_hosts(36)}.wait(into);
  CHECK(into.cells[0].waited_for.at(1).wait.value_ns == 72);
  CHECK(into.cells[0].waited_for.at(1).wait.error_ns == 36);
  CHECK(into.cells[0].waited_for.at(1).delay.error_ns == 36);
  // Then it is also less certain whether it had ended before.
  wait = Kernel{{100, 120}, {{true, {130, 200}}}, two_hosts(36)}.wait(into);
  CHECK(wait->ready_ns == 100);
  CHECK(wait->error_ns == 20);
  // The last to come may in truth have waited, by as much as the error exceeds its lead.
  CHECK(Kernel{{100, 200}, {{true, {80, 200}}}, two_hosts(36)}.wait(into)->error_ns == 16);
  CHECK(Kernel{{100, 200}, {{true, {30, 200}}}, two_hosts(36)}.wait(into)->error_ns == 0);
  // Nor is a receive that ends a little early wrong.
  wait = Kernel{{100, 200}, {{false, {230, 300}}}, two_hosts(36)}.wait(into);
  CHECK(into.physics.violations == 1);
  CHECK(into.physics.beyond_bound == 0);
}

TEST_CASE("The bubbles of a pipeline are waiting, not transfer: every figure by hand") {
  Timeline out = analysed(pipeline_source(20), {.keep_steps = true});

  const RankTimeline &first = out.ranks[0], &second = out.ranks[1];
  // Stage 0 sends 50 ns to a receive that is there, then waits 400 ns and receives for 50.
  CHECK(first.steps[0].parts == TimeParts{.length_ns = 1000,
                                          .communication_ns = 500,
                                          .hidden_ns = 0,
                                          .compute_ns = 400,
                                          .exposed_wait_ns = 400,
                                          .exposed_transfer_ns = 100,
                                          .memory_ns = 0,
                                          .helper_ns = 0,
                                          .idle_ns = 100});
  CHECK(second.steps[0].parts == TimeParts{.length_ns = 1000,
                                           .communication_ns = 300,
                                           .hidden_ns = 0,
                                           .compute_ns = 400,
                                           .exposed_wait_ns = 200,
                                           .exposed_transfer_ns = 100,
                                           .memory_ns = 0,
                                           .helper_ns = 0,
                                           .idle_ns = 300});
  CHECK(first.communications == 40);
  CHECK(first.matched == 40);
  CHECK(only(first.cells).wait_error_ns == 0);

  const MessageWaits& messages = out.messages;
  CHECK(messages.per_step);
  const MessageWaits::OfCell& waits = only(messages.cells);
  CHECK(waits.steps == 20);
  CHECK(messages.all.halves[static_cast<std::size_t>(MatchState::matched)] == 80);
  CHECK(messages.all.unmatched_halves() == 0);
  CHECK(messages.all.physics.checked == 40);
  CHECK(messages.all.physics.violations == 0);
  CHECK(messages.all.physics.worst_margin_ns == 50);
  REQUIRE(waits.ranks.size() == 2);
  CHECK(waits.ranks[0].wait.value_ns == 400); // per step, for stage 1
  CHECK(waits.ranks[0].most_for == 1);
  CHECK(waits.ranks[0].times_awaited == 20);
  CHECK(waits.ranks[0].delay.value_ns == 200);
  CHECK(waits.ranks[1].delay.value_ns == 400);
  REQUIRE(waits.ranks[1].delay_interval);
  CHECK(waits.ranks[1].delay_interval->low == 400);
  CHECK(waits.ranks[1].delay_interval->high == 400);
  CHECK(only(out.stragglers).skew.collectives == 0);
}

TEST_CASE("Steps without messages do not thin out what is waited for in those with some") {
  std::vector<RankBuilder> ranks = pipeline(20);
  for (std::uint32_t i = 0; i < 20; ++i)
    for (RankBuilder& rank : ranks)
      rank.compute({100'000 + 100 * i, 100'050 + 100 * i},
                   rank.operation({0, 1, i}, 0, OperationKind::compute));
  TraceSource source = source_of(ranks);
  source.transfers = pipeline_transfers;
  Timeline out = analysed(source);
  CHECK(only(out.ranks[0].cells).steps == 40);
  const MessageWaits::OfCell& waits = only(out.messages.cells);
  CHECK(waits.steps == 20);
  CHECK(waits.ranks[0].wait.value_ns == 400);
  CHECK(waits.ranks[1].delay_interval->high == 400);
}

TEST_CASE("Blocks of steps without messages are not among those that chance draws from") {
  constexpr std::size_t k_blocks = 64, k_with_messages = 6;
  auto interval_with = [](std::size_t with_messages) {
    RankMessages first;
    RankMessages::Waits& waits = first.cells[0];
    waits.kernels = with_messages;
    waits.steps_by_block.resize(k_blocks);
    RankMessages::For& second = waits.waited_for[1];
    second.kernels = with_messages;
    second.delay_by_block.resize(k_blocks);
    for (std::size_t k = 0; k < with_messages; ++k) {
      waits.steps_by_block[10 * k] = 2;
      second.delay_by_block[10 * k] = 80;
    }
    return sum_message_waits({0, 1}, {first, {}}, true).cells.at(0).ranks.at(1).delay_interval;
  };
  REQUIRE(interval_with(k_with_messages));
  CHECK(interval_with(k_with_messages)->low == 40);
  CHECK(interval_with(k_with_messages)->high == 40);
  CHECK_FALSE(interval_with(k_with_messages - 1)); // too few
}

TEST_CASE("Messages without their other side count as transfer, and are named") {
  TraceSource source = pipeline_source(3);
  source.transfers = [](int cell, int index, int rank) {
    auto transfers = pipeline_transfers(cell, index, rank);
    if (index == k_backward && rank == 0)
      transfers[0][0].number = 7; // no such send
    return transfers;
  };
  Timeline out = analysed(source);
  CHECK(out.ranks[0].matched == 3);
  CHECK(out.ranks[0].communications == 6);
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 0);
  CHECK(only(out.ranks[0].cells).parts.exposed_transfer_ns == 3 * 500);
  CHECK(out.messages.all.halves[static_cast<std::size_t>(MatchState::alone)] == 6);
  CHECK(out.messages.all.unmatched.size() == 6);

  source = source_of(pipeline(3)); // the peers are unknown
  out = analysed(source);
  CHECK(out.messages.all.kernels_untold == 12);
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 0);

  source = pipeline_source(3);
  source.ranks[1].host = "never compared";
  out = analysed(source);
  CHECK(out.messages.all.clock_unknown == 6);
  CHECK(out.messages.all.halves[static_cast<std::size_t>(MatchState::alone)] == 6);
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 0);
}

TEST_CASE("A pipeline over two hosts shows no waits below twice their clocks' error") {
  TraceSource source = pipeline_source(20);
  source.ranks[1].host = "other";
  for (std::uint64_t at : {0u, 1'000'000u})
    source.ranks[1].clocks.push_back({at, 0, 240, 480, trace::ClockKind::host});
  Timeline out = analysed(source);
  CHECK(out.clocks.worst_host_error_ns() == Approx(240));
  const MessageWaits::OfCell& waits = only(out.messages.cells);
  REQUIRE(waits.ranks.size() == 2);
  CHECK(waits.ranks[0].times_awaited == 0); // 200 ns each
  CHECK(waits.ranks[0].wait.value_ns == 0);
  CHECK(waits.ranks[1].times_awaited == 0); // 400 ns each
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 20 * 400);
  // For the receive, and for the send that was 200 ns behind its receive.
  CHECK(only(out.ranks[0].cells).wait_error_ns == Approx(20 * (240 + 40)));
  CHECK_FALSE(Aligned{20 * 400., only(out.ranks[0].cells).wait_error_ns}.is_shown());
}

TEST_CASE("A captured job's sends and receives wait per kernel, and threads change nothing") {
  std::vector<RankBuilder> ranks(3);
  for (std::uint64_t i = 0; i < 10; ++i) {
    auto at = static_cast<std::int64_t>(1000 * i + 1000);
    for (int rank = 0; rank < 3; ++rank) { // round a ring; rank 2 comes 100 ns late
      auto& trace = ranks[static_cast<std::size_t>(rank)];
      Times times{at + (rank == 2 ? 100 : 0), at + 300};
      trace.nccl_message(trace::NcclKind::send, rank, (rank + 1) % 3, i, times);
      trace.nccl_message(trace::NcclKind::receive, rank, (rank + 2) % 3, i, times);
    }
  }
  TraceSource source = source_of(ranks);
  for (RankHead& head : source.ranks)
    for (std::uint64_t at : {0u, 100'000'000u})
      head.clocks.push_back({at, 0, 0, 0, trace::ClockKind::globaltimer});
  Timeline out = analysed(source, {.threads = 1});
  const MessageWaits& messages = out.messages;
  CHECK_FALSE(messages.per_step);
  CHECK(messages.all.kernels == 60);
  const std::vector<MessageWaits::OfRank>& of_ranks = only(messages.cells).ranks;
  REQUIRE(of_ranks.size() == 3);
  // Rank 1's send to rank 2 and rank 0's receive from it.
  CHECK(of_ranks[2].times_awaited == 20);
  CHECK(of_ranks[2].delay.value_ns == Approx(20 * 100. / 60));
  CHECK(of_ranks[0].wait.value_ns == Approx(10 * 100. / 60));
  CHECK(of_ranks[1].most_for == 2);
  CHECK(of_ranks[2].kernels == 0);
  // Its other message goes on meanwhile.
  CHECK(only(out.ranks[0].cells).parts.exposed_wait_ns == 0);
  CHECK(only(out.ranks[0].cells).parts.exposed_transfer_ns == 10 * 300);

  Timeline threads = analysed(source, {.threads = 3});
  for (std::size_t rank = 0; rank < 3; ++rank)
    CHECK(only(threads.messages.cells).ranks[rank].delay.value_ns == of_ranks[rank].delay.value_ns);
}
