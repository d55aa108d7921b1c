// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "jobs.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::hang;

namespace {

constexpr auto k_ended = CallState::ended;
constexpr auto k_running = CallState::running;

std::vector<int> blamed(const Verdict& verdict) {
  std::vector<int> ranks;
  for (const Standing& one : verdict.blamed)
    ranks.push_back(one.rank);
  return ranks;
}

using Ranks = std::vector<int>;

} // namespace

TEST_CASE("a job whose operations have all ended does not hang") {
  MadeJob made(3);
  made.collective({0, 1, 2}, k_ended);
  made.message(0, CallKind::send, 1, k_ended);
  made.message(1, CallKind::receive, 0, k_ended);

  const Verdict verdict = made.judged();

  CHECK(verdict.cause == Cause::none);
  CHECK(!verdict.in_progress);
  CHECK(verdict.ends_known);
  for (const Standing& one : verdict.standings)
    CHECK((!one.open && one.behind == 0));
}

TEST_CASE("operations that are open for a moment do not hang") {
  MadeJob made(2);
  made.collective({0}, k_running).at_ns = 96'000'000'000;
  const Verdict verdict = made.judged();
  CHECK(verdict.cause == Cause::none);
  CHECK(verdict.in_progress);
}

TEST_CASE("the rank that has not called is blamed, whether it left a record or not") {
  const bool left_record = GENERATE(true, false);
  MadeJob made(4);
  made.collective({0, 1, 2, 3}, k_ended);
  made.collective({0, 1, 2}, k_running);
  made.collective({0, 1}, CallState::queued);
  if (!left_record)
    made.forget(3);

  const Verdict verdict = made.judged();

  CHECK(verdict.cause == Cause::not_called);
  CHECK(blamed(verdict) == Ranks{3});
  CHECK(verdict.blamed.at(0).of.has_value() == left_record);
  CHECK(verdict.waiting == Ranks{0, 1, 2});
  CHECK(verdict.waits_ns == 98'000'000'000);
  REQUIRE(verdict.call);
  CHECK(made.job.ranks[verdict.call->rank].calls[verdict.call->call].number == 1);
  CHECK(verdict.standings.at(2).behind == 1);
  if (left_record)
    CHECK(verdict.standings.at(3).behind == 2);
}

TEST_CASE("collectives that ranks called differently are named") {
  struct Case {
    Argument argument;
    void (*change)(Call&);
  };
  const Case one =
      GENERATE(Case{Argument::function, [](Call& call) { call.function = "all_gather"; }},
               Case{Argument::data_type, [](Call& call) { call.data_type = "bfloat16"; }},
               Case{Argument::count, [](Call& call) { call.count = 1023; }},
               Case{Argument::algorithm, [](Call& call) { call.algorithm = "TREE"; }},
               Case{Argument::protocol, [](Call& call) { call.protocol = "LL"; }});
  MadeJob made(3);
  made.collective({0, 1, 2}, k_ended);
  made.collective({0, 2}, k_running);
  one.change(made.collective({1}, k_running));

  const Verdict verdict = made.judged();

  CHECK(verdict.cause == Cause::mismatch);
  REQUIRE(verdict.mismatch);
  CHECK(verdict.mismatch->argument == one.argument);
  CHECK(verdict.mismatch->position == 1);
  CHECK(verdict.mismatch->ranks == Ranks{1});
  CHECK(verdict.waiting == Ranks{0, 1, 2});
}

TEST_CASE("roots are compared where there are roots, and counts where they must be equal") {
  const std::string function = GENERATE("broadcast", "all_reduce");
  MadeJob made(2);
  made.collective({0}, k_running, function);
  Call& other = made.collective({1}, k_running, function);
  other.root = 1;
  made.collective({0}, k_ended, "all_to_all").count_may_differ = true;
  made.collective({1}, k_ended, "all_to_all", 0, 5).count_may_differ = true;

  const Verdict verdict = made.judged();

  CHECK(verdict.mismatches.size() == (function == "broadcast" ? 1 : 0));
  CHECK(verdict.cause == (function == "broadcast" ? Cause::mismatch : Cause::transfer));
}

TEST_CASE("another order of collectives is a mismatch that says where the others made the call") {
  MadeJob made(3);
  made.collective({0, 1}, k_running, "all_reduce");
  made.collective({0, 1}, CallState::queued, "all_gather");
  made.collective({2}, k_running, "all_gather");
  made.collective({2}, CallState::queued, "all_reduce");

  const Verdict verdict = made.judged();

  CHECK(verdict.cause == Cause::mismatch);
  REQUIRE(verdict.mismatch);
  CHECK(verdict.mismatch->ranks == Ranks{2});
  CHECK(verdict.mismatch->elsewhere == 1);
}

TEST_CASE("the rank at the end of a chain of waits is blamed") {
  MadeJob made(4); // 0 and 1 train in parallel with 2 and 3, which follow in a pipeline
  const std::size_t data = made.group("data", {2, 3});
  made.collective({2}, k_running, "all_reduce", data); // waits for 3, which waits for 1
  made.message(3, CallKind::receive, 1, k_running);
  made.collective({0}, k_ended, "all_reduce", made.group("other", {0, 1}));

  const Verdict verdict = made.judged();

  CHECK(verdict.cause == Cause::unmatched_message);
  CHECK(blamed(verdict) == Ranks{1});
  CHECK(verdict.waiting == Ranks{2, 3});
}

TEST_CASE("a send hangs without its receive, and not with it") {
  MadeJob made(2);
  made.message(0, CallKind::send, 1, k_ended);
  made.message(1, CallKind::receive, 0, k_ended);
  made.message(0, CallKind::send, 1, k_running);
  CHECK(made.judged().cause == Cause::unmatched_message);
  made.message(1, CallKind::receive, 0, CallState::queued);
  const Verdict verdict = made.judged();
  CHECK(verdict.cause == Cause::not_begun);
  CHECK(blamed(verdict) == Ranks{1});
}

TEST_CASE("ranks that are not in their group harm nobody") {
  MadeJob made(3);
  const std::size_t pair = made.group("pair", {0, 1});
  made.message(0, CallKind::send, 7, k_running, pair);
  made.collective({2}, k_running, "all_gather", pair);
  made.collective({0, 1}, k_running, "all_reduce", pair);
  CHECK(made.judged().cause != Cause::none);
}

TEST_CASE("communicators in different orders make ranks wait for each other") {
  MadeJob made(2);
  const std::size_t other = made.group("other", {0, 1});
  made.collective({0}, k_running);
  made.collective({0}, CallState::queued, "all_reduce", other);
  made.collective({1}, k_running, "all_reduce", other);
  made.collective({1}, CallState::queued);

  const Verdict verdict = made.judged();

  CHECK(verdict.cause == Cause::order);
  CHECK(verdict.waiting == Ranks{0, 1});
}

TEST_CASE("a GPU that is busy with other work is told from a transfer that does not end") {
  MadeJob made(3);
  made.collective({0, 1}, k_running);
  made.collective({2}, CallState::queued);
  CHECK(made.judged().cause == Cause::not_begun);
  CHECK(blamed(made.judged()) == Ranks{2});
  made.job.ranks[2].calls[0].state = k_running;
  CHECK(made.judged().cause == Cause::transfer);
  CHECK(made.judged().blamed.empty());
  made.job.ranks[0].calls[0].state = k_ended;
  CHECK(made.judged().cause == Cause::transfer);
  CHECK(blamed(made.judged()) == Ranks{1, 2});
}

TEST_CASE("without ends, a job hangs only where a rank has not called") {
  MadeJob made(3);
  made.collective({0, 1, 2}, CallState::unknown);
  const Verdict even = made.judged();
  CHECK(even.cause == Cause::none);
  CHECK(!even.ends_known);
  made.collective({0, 2}, CallState::unknown);
  const Verdict uneven = made.judged();
  CHECK(uneven.cause == Cause::not_called);
  CHECK(blamed(uneven) == Ranks{1});
}
