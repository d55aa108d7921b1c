// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "wire/message.h"

#include <cstring>

using namespace ncclprobe;
using wire::Decoder;
using wire::Message;

namespace {

model::TrialSpec some_spec() {
  model::TrialSpec spec;
  spec.id = 7;
  spec.name = "NCCL_ALGO=Ring";
  spec.backend = "host";
  spec.ranks = 4;
  spec.process.common = {{"NCCL_ALGO", "Ring"}};
  spec.process.per_rank[2] = {{"NCCL_HOSTID", "b"}};
  model::Cell cell;
  cell.label.bytes = 1 << 20;
  cell.schedule.streams = {{"main", 0}};
  spec.cells = {cell, cell};
  return spec;
}

// One of every kind, with values that are easy to lose.
std::vector<Message> one_of_each() {
  model::HostInventory host;
  host.hostname = "node1";
  host.gpus = {{0, "NVIDIA H200"}};
  model::Survey survey;
  survey.inventory = host;
  survey.process.limits = {{"memlock", std::nullopt, 65536U}};
  survey.host.emplace().shared_memory = {1 << 20, 1 << 19, {{"nccl-x", 9, 60, 1000}}};
  survey.health = {{3, "NVIDIA H200"}};
  std::string opaque("\0\xFF\n\"opaque\x80", 11);
  return {
      {-1, wire::Hello{wire::k_protocol_version, "0.1.0", 4711}},
      {-1, wire::Start{some_spec(), {{0, 3}, {1, 5}}, {0, 0, 1, 1}, "trace.spool"}},
      {2, wire::Phase{wire::WorkerPhase::communicator_init, -1}},
      {2, wire::Exchange{"world", {0, 2, 3}, {{0, opaque}, {2, ""}}}},
      {3, wire::CellEnd{1,
                        {{model::OutcomeKind::wrong_data, "element 5", {3}},
                         {true, 100, 1, "element 5", "", 2, "every launch"},
                         {{3, 0, 20, 123456789012, 98765432109}, {3, 1, 20, -1}},
                         {{3,
                           model::Condition::When::during,
                           17,
                           1980,
                           {},
                           35,
                           700'000,
                           0x4,
                           1 << 30,
                           1ULL << 60,
                           {},
                           5,
                           {}}},
                         {{3, 0, 19, 7, -5}, {3, 1, 0, 2, 123456789012}}}}},
      {0, wire::Failure{{model::OutcomeKind::failed, "bad bytes \xC3\xA4", {0}}, 1}},
      {1, wire::Done{}},
      {-1, wire::Inventory{host}},
      {2, wire::Evidence{{2, "NCCL INFO", "v5", {{1, "Send", "ncclInt8", 9, "", "", 4, 3}}}}},
      {-1, wire::Where{}},
      {1, wire::Position{"launch 12 of 20 of batch 3", "ncclAllReduce\nmain"}},
      {-1, wire::Survey{survey}},
      {-1, wire::Loaded{{{"nccl", "2.28.9", "/b/libnccl.so.2.28.9", "not as asked"}},
                        "0-3",
                        {{3, model::MemoryUse::What::connected, 1ULL << 40}}}},
  };
}

Message decode_whole(const std::string& frame) {
  Decoder decoder;
  decoder.feed(frame.data(), frame.size());
  return base::value_or_throw(decoder.next()).value();
}

// The first frame's header fields, at their documented places.
template <typename T>
std::string with_field(std::string frame, std::size_t offset, T value) {
  std::memcpy(frame.data() + offset, &value, sizeof value);
  return frame;
}

base::Errc error_of(const std::string& bytes) {
  Decoder decoder;
  decoder.feed(bytes.data(), bytes.size());
  auto result = decoder.next();
  REQUIRE(!result.has_value());
  return result.error().code;
}

} // namespace

TEST_CASE("every kind of message survives encoding and decoding") {
  for (const Message& message : one_of_each()) {
    std::string frame = wire::encode(message);

    Message back = decode_whole(frame);

    CHECK(back.rank == message.rank);
    CHECK(back.body.index() == message.body.index());
    CHECK(wire::encode(back) == frame); // nothing was lost on the way
  }
  REQUIRE(one_of_each().size() == std::variant_size_v<wire::Body>);
}

TEST_CASE("opaque bytes, samples and the trial arrive as they were sent") {
  std::vector<Message> all = one_of_each();

  auto exchange = std::get<wire::Exchange>(decode_whole(wire::encode(all[3])).body);
  auto cell_end = std::get<wire::CellEnd>(decode_whole(wire::encode(all[4])).body);
  auto start = std::get<wire::Start>(decode_whole(wire::encode(all[1])).body);

  CHECK(exchange.contributions == std::get<wire::Exchange>(all[3].body).contributions);
  CHECK(exchange.members == std::vector<int>{0, 2, 3});
  CHECK(cell_end.result == std::get<wire::CellEnd>(all[4].body).result);
  CHECK(start.spec == some_spec());
  CHECK(start.ranks.at(1).device == 5);
  CHECK(start.host_of_rank == std::vector<int>{0, 0, 1, 1});
  CHECK(start.spool == "trace.spool");
}

TEST_CASE("frames cut at any byte are put together again") {
  std::string stream;
  for (const Message& message : one_of_each())
    stream += wire::encode(message);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    Decoder decoder;
    std::string decoded;
    auto take_all = [&] {
      while (auto message = base::value_or_throw(decoder.next()))
        decoded += wire::encode(*message);
    };

    decoder.feed(stream.data(), cut);
    take_all();
    decoder.feed(stream.data() + cut, stream.size() - cut);
    take_all();

    REQUIRE(decoded == stream);
  }
}

TEST_CASE("a stream fed byte by byte gives the same messages") {
  std::string stream;
  for (const Message& message : one_of_each())
    stream += wire::encode(message);
  Decoder decoder;
  std::string decoded;

  for (char byte : stream) {
    decoder.feed(&byte, 1);
    while (auto message = base::value_or_throw(decoder.next()))
      decoded += wire::encode(*message);
  }

  CHECK(decoded == stream);
}

TEST_CASE("what is no frame is refused") {
  std::string good = wire::encode({0, wire::Phase{wire::WorkerPhase::ready, -1}});

  CHECK(error_of("NCCL version 2.28.3") == base::Errc::protocol);
  CHECK(error_of("x") == base::Errc::protocol); // before a whole header is there
  CHECK(error_of(with_field<std::uint32_t>(good, 0, 0)) == base::Errc::protocol);
  CHECK(error_of(with_field<std::uint16_t>(good, 4, wire::k_protocol_version + 1)) ==
        base::Errc::protocol);
  CHECK(error_of(with_field<std::uint16_t>(good, 6, 99)) == base::Errc::protocol);
  CHECK(error_of(with_field<std::uint64_t>(good, 16, (std::uint64_t{1} << 30) + 1)) ==
        base::Errc::protocol);
}

TEST_CASE("a payload that does not parse is refused, whatever byte is broken") {
  for (const Message& message : one_of_each()) {
    std::string frame = wire::encode(message);
    for (std::size_t cut = 24; cut < frame.size(); ++cut) {
      std::string shorter = with_field<std::uint64_t>(frame.substr(0, cut), 16, cut - 24);

      CHECK(error_of(shorter) == base::Errc::protocol);
    }
  }
}

TEST_CASE("counts that promise more than is there neither read nor allocate it") {
  wire::CellEnd end{0, {{}, {}, {{0, 0, 1, 1}}, {}}};
  std::string frame = wire::encode({0, end});
  // The number of samples stands before the one sample of 5 bytes and the numbers of conditions and
  // marks.
  std::size_t count_at = frame.size() - 2 - 5 - 1;
  REQUIRE(frame[count_at] == 1);

  CHECK(error_of(with_field<char>(frame, count_at, 0x7F)) == base::Errc::protocol);
  CHECK(error_of(with_field<char>(frame, count_at, 2)) == base::Errc::protocol);
  CHECK(error_of(with_field<char>(frame, count_at, 0)) == base::Errc::protocol);
}

TEST_CASE("text that is no UTF-8 arrives as it was sent") {
  wire::Failure failure{{model::OutcomeKind::failed, "library said \xFF\xFE", {}}, -1};

  auto back = std::get<wire::Failure>(decode_whole(wire::encode({0, failure})).body);

  CHECK(back.outcome.reason == failure.outcome.reason);
}

TEST_CASE("a secret is in no text that comes out, and the bytes of an exchange stay as they are") {
  const std::string secret = "hf_12345678";
  const std::vector<std::pair<wire::Body, bool>> bodies{
      {wire::Failure{{model::OutcomeKind::failed, "no access with " + secret, {1}}, 0}, false},
      {wire::Evidence{{1, "NCCL INFO token " + secret + "\n", secret, {}}}, false},
      {wire::Position{"in " + secret, "frame " + secret}, false},
      {wire::Hello{wire::k_protocol_version, secret, 1}, false},
      {wire::Loaded{{{"nccl", "2", "/" + secret + "/libnccl.so", ""}}, secret, {}}, false},
      {wire::Exchange{"world", {0}, {{0, secret}}}, true}};
  for (const auto& [body, stays] : bodies) {
    const std::string frame = wire::encode({1, body});
    REQUIRE_THAT(frame, ContainsSubstring(secret));
    Decoder decoder({secret});
    decoder.feed(frame.data(), frame.size());

    const auto message = decoder.next();

    REQUIRE(message);
    REQUIRE(*message);
    CHECK((wire::encode(**message).find(secret) != std::string::npos) == stays);
  }
}
