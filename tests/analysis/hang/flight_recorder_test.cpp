// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/flight_recorder.h"
#include "analysis/hang/pickle.h"
#include "analysis/hang/verdict.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::hang;
using namespace std::string_literals;

namespace {

// A pickle of protocol 2, as PyTorch writes it.
std::string text(const std::string& value) {
  return "X" + std::string(1, static_cast<char>(value.size())) + "\0\0\0"s + value;
}
std::string number(std::uint8_t value) {
  return "K" + std::string(1, static_cast<char>(value));
}
std::string list(const std::vector<std::string>& items) {
  std::string all = "](";
  for (const std::string& item : items)
    all += item;
  return all + "e";
}
std::string dict(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string all = "}(";
  for (const auto& [name, value] : fields)
    all += text(name) + value;
  return all + "u";
}
std::string whole(const std::string& value) {
  return "\x80\x02" + value + ".";
}

struct Entry {
  std::string name;
  std::uint8_t sequence;
  std::string state;
  std::uint8_t elements = 8;
  bool is_p2p = false;
};
std::string entry(const Entry& one) {
  return dict({{"process_group", "(" + text("0") + text("default_pg") + "t"},
               {one.is_p2p ? "p2p_seq_id" : "collective_seq_id", number(one.sequence)},
               {"profiling_name", text("nccl:" + one.name)},
               {"input_sizes", list({list({number(one.elements), number(2)})})},
               {"input_dtypes", list({text("BFloat16")})},
               {"state", text(one.state)},
               {"time_created_ns", number(one.sequence)},
               {"is_p2p", one.is_p2p ? "\x88" : "\x89"},
               {"frames", list({dict({{"name", text("all_reduce")},
                                      {"filename", text("/usr/torch/distributed.py")},
                                      {"line", number(1)}}),
                                dict({{"name", text("step")},
                                      {"filename", text("train.py")},
                                      {"line", number(83)}})})}});
}

Job job_of(const std::vector<std::vector<Entry>>& ranks) {
  FlightRecorderCalls calls;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<std::string> entries;
    for (const Entry& one : ranks[rank])
      entries.push_back(entry(one));
    const auto pickle = Pickle::parse(
        whole(dict({{"version", text("2.10")},
                    {"pg_config", dict({{"0", dict({{"ranks", text("[0, 1, 2]")}})}})},
                    {"entries", list(entries)}})),
        "dump");
    REQUIRE(pickle);
    REQUIRE(calls.add("nccl_trace_rank_" + std::to_string(rank), *pickle, 10'000));
  }
  return calls.take();
}

std::string error_of(const std::string& bytes) {
  const auto pickle = Pickle::parse(bytes, "dump");
  return pickle ? "" : pickle.error().message;
}

} // namespace

TEST_CASE("plain data of all protocols is read") {
  const std::string bytes = "\x80\x04\x95\0\0\0\0\0\0\0\0"s // FRAME
                            "(\x8c\x01"s
                            "a\x94"s // "a", memoized as 0
                            "J\xff\xff\xff\xff"s
                            "\x8a\x02\x00\x80"s // -32768
                            "G?\xf0\0\0\0\0\0\0"s
                            "N\x89"s
                            "h\0C\x02xy\x8f(K\x01\x90tK\x07\x86."s;

  const auto pickle = Pickle::parse(bytes, "dump");

  REQUIRE(pickle);
  const Pickle::Ref root = pickle->root();
  REQUIRE(root.size() == 2);
  CHECK(root.item(1).integer() == 7);
  const Pickle::Ref tuple = root.item(0);
  REQUIRE(tuple.size() == 9);
  CHECK(tuple.item(0).text() == "a");
  CHECK(tuple.item(1).integer() == -1);
  CHECK(tuple.item(2).integer() == -32768);
  CHECK(tuple.item(4).is_none());
  CHECK(tuple.item(5).boolean() == false);
  CHECK(tuple.item(6).text() == "a");
  CHECK(tuple.item(7).text() == "xy");
  CHECK(tuple.item(8).size() == 1);
  CHECK(tuple.item(9).is_none());
}

TEST_CASE("a pickle that runs code, or is none, is refused with the reason") {
  struct Case {
    std::string bytes, reason;
  };
  const Case one = GENERATE(
      Case{"\x80\x02"
           "cos\nsystem\nX\x02\0\0\0ls\x85R."s,
           "GLOBAL is refused"},
      Case{"\x80\x04\x8c\x02os\x8c\x06system\x93."s, "STACK_GLOBAL is refused"},
      Case{"\x80\x02NNR."s, "REDUCE is refused"}, Case{"\x80\x02NNb."s, "BUILD is refused"},
      Case{"\x80\x02N\x81."s, "NEWOBJ is refused"}, Case{"\x80\x02\x82\x01."s, "EXT1 is refused"},
      Case{"\x80\x02Pid\n."s, "PERSID is refused"}, Case{"\x80\x01N."s, "protocol"},
      Case{"I1\n."s, "is not an opcode"}, Case{""s, "too early"}, Case{"\x80\x02N"s, "too early"},
      Case{"\x80\x02X\xff\xff\xff\x7fx."s, "too early"}, Case{"\x80\x02]K\x01\x86\x86."s, "empty"},
      Case{"\x80\x02}K\x01sN."s, "holds none"}, Case{"\x80\x02(K\x01"s + "d."s, "key without"},
      Case{"\x80\x02NK\x01"s + "a."s, "holds none"}, Case{"\x80\x02h\x05."s, "recalls"},
      Case{"\x80\x02\x8a\x09"s + "123456789."s, "64 bits"}, Case{"\x80\x02"s + "e."s, "mark"},
      Case{"\x80\x02"s + std::string(5000, '('), "levels"});
  CHECK_THAT(error_of(one.bytes), ContainsSubstring(one.reason));
}

TEST_CASE("a list that contains itself is read") {
  const auto pickle = Pickle::parse("\x80\x02]q\0h\0a."s, "dump");
  REQUIRE(pickle);
  CHECK(pickle->root().item(0).item(0).size() == 1);
}

TEST_CASE("the rank that dumps lack is named, with the user's line") {
  const Job job = job_of({{{"all_reduce", 1, "completed"}, {"all_reduce", 2, "started"}},
                          {{"all_reduce", 1, "completed"}, {"all_reduce", 2, "scheduled"}},
                          {{"all_reduce", 1, "completed"}}});

  const Verdict verdict = judge(job, 0);

  CHECK(verdict.cause == Cause::not_called);
  REQUIRE(verdict.blamed.size() == 1);
  CHECK(verdict.blamed[0].rank == 2);
  CHECK(verdict.waiting == std::vector<int>{0, 1});
  CHECK(verdict.waits_ns == 9998);
  const Call& call = job.ranks[0].calls[1];
  CHECK(call.where == std::vector<std::string>{"train.py:83 (step)"});
  CHECK(call.bytes == 32);
  CHECK(call.number == 2);
  CHECK(job.groups.at(0).name == "0 default_pg");
}

TEST_CASE("dumps show mismatches, and messages without their other side") {
  const Job sizes = job_of({{{"all_reduce", 1, "started"}},
                            {{"all_reduce", 1, "started", 9}},
                            {{"all_reduce", 1, "started"}}});
  CHECK(judge(sizes, 0).cause == Cause::mismatch);
  const Job uneven = job_of({{{"all_to_all", 1, "started"}},
                             {{"all_to_all", 1, "started", 9}},
                             {{"all_to_all", 1, "started"}}});
  CHECK(judge(uneven, 0).cause == Cause::transfer);
  const Job message =
      job_of({{{"send 0->1", 1, "completed", 8, true}, {"send 0->1", 2, "started", 8, true}},
              {{"recv 1<-2", 1, "completed", 8, true}},
              {}});
  const Verdict verdict = judge(message, 0);
  CHECK(verdict.cause == Cause::unmatched_message);
  REQUIRE(verdict.blamed.size() == 1);
  CHECK(verdict.blamed[0].rank == 1);
}

TEST_CASE("files that are no dumps are refused") {
  FlightRecorderCalls calls;
  const auto empty = Pickle::parse(whole(dict({})), "dump");
  const auto dump = Pickle::parse(whole(dict({{"entries", list({})}})), "dump");
  REQUIRE((empty && dump));
  CHECK(calls.add("rank_0", *empty, 0).error().code == Errc::protocol);
  CHECK(calls.add("rank", *dump, 0).error().code == Errc::protocol);
  CHECK(calls.add("rank_0", *dump, 0));
  CHECK(calls.add("other_0", *dump, 0).error().code == Errc::mismatch);
}
