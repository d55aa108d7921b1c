// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/supervisor_message.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::launch;

namespace {

std::vector<MessageBody> one_of_each() {
  RankReport rank{3, WorkerPhase::cell, 1, {}};
  rank.results[0] = {{model::OutcomeKind::wrong_data, "element 1", {3}},
                     {true, 10, 1, "element 1", "", 1, "every launch"},
                     {{3, 0, 20, 12345}},
                     {{3, model::Condition::When::after, 5, 1980, {}, {}, {}, {}}},
                     {{3, 0, 19, 7, -5}, {3, 1, 0, 2, 12}}};
  rank.evidence = model::Evidence{3, "NCCL INFO", "v5", {}};
  WorkerReport worker;
  worker.record = {{3}, "node1", 4711, "cell", 1, "signal 9 (Killed)", "last words"};
  worker.ranks = {rank};
  worker.lost = true;
  worker.state = "D";
  worker.waits_in = "world";
  worker.nccl_settings = {{"NCCL_ALGO", "Ring"}};
  wire::Exchange exchange{"world", {0, 3}, {{3, std::string("\0x", 2)}}};
  return {TrialOrder{"{}"},
          StopOrder{Haste::fast, Ask::yes},
          Release{},
          ExchangeWhole{exchange},
          ExchangePart{exchange},
          ProgressNote{2, WorkerPhase::cell},
          Trouble{Trouble::Kind::timed_out, "why", {1, 2}, WorkerPhase::cell, 1, 5},
          TrialReport{{worker}, 99, true},
          Prepare{"{}"},
          Finished{},
          CompareClocks{},
          TraceOver{"{}"},
          TraceStored{{"trace-000000-00002.h5"}},
          SendPiece{"trace-000000-00002.h5", 7},
          DropFile{"trace-000000-00002.h5"},
          FilePiece{"trace-000000-00002.h5", 7, std::string("\0x", 2), true, "why"},
          HeartbeatRequest{},
          Heartbeat{}};
}

} // namespace

TEST_CASE("every kind of message survives encoding and decoding") {
  for (MessageBody& body : one_of_each()) {
    std::string bytes = encode(SupervisorMessage{42, body});

    SupervisorMessage back = base::value_or_throw(decode_supervisor_message(bytes));

    CHECK(back.trial == 42);
    CHECK(back.body.index() == body.index());
    CHECK(encode(back) == bytes);
  }
  REQUIRE(one_of_each().size() == std::variant_size_v<MessageBody>);
}

TEST_CASE("a message cut at any byte is refused") {
  for (MessageBody& body : one_of_each()) {
    std::string bytes = encode(SupervisorMessage{42, body});
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      auto message = decode_supervisor_message(bytes.substr(0, size));
      REQUIRE(!message.has_value());
      CHECK(message.error().code == base::Errc::protocol);
    }
  }
}
