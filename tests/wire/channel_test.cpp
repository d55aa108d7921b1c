// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "wire/channel.h"

#include <fcntl.h>
#include <thread>
#include <unistd.h>

using namespace ncclprobe;
using namespace std::chrono_literals;

namespace {

struct Pair {
  wire::Channel ours;
  wire::Channel theirs;
};

Pair connected() {
  auto ends = base::value_or_throw(wire::make_channel());
  return {std::move(ends.first), wire::Channel(std::move(ends.second))};
}

base::Deadline now() {
  return base::Deadline::after(0ns);
}

wire::Message large_message() {
  return {0,
          wire::Exchange{"key", {0}, {{0, std::string(8 << 20, 'x')}}}}; // beyond any socket buffer
}

} // namespace

TEST_CASE("messages arrive in order, both ways") {
  Pair pair = connected();
  REQUIRE(pair.ours.send({-1, wire::Phase{wire::WorkerPhase::ready, 1}}));
  REQUIRE(pair.ours.send({-1, wire::Phase{wire::WorkerPhase::cell, 2}}));
  REQUIRE(pair.theirs.send({5, wire::Done{}}));

  auto first = base::value_or_throw(pair.theirs.receive(now()));
  auto second = base::value_or_throw(pair.theirs.receive(now()));
  auto answer = base::value_or_throw(pair.ours.receive(now()));

  CHECK(std::get<wire::Phase>(first->body).phase == wire::WorkerPhase::ready);
  CHECK(std::get<wire::Phase>(second->body).phase == wire::WorkerPhase::cell);
  CHECK(answer->rank == 5);
}

TEST_CASE("receive gives nothing when its deadline passes") {
  Pair pair = connected();

  auto message = base::value_or_throw(pair.ours.receive(base::Deadline::after(10ms)));

  CHECK(!message.has_value());
}

TEST_CASE("a message larger than the socket's buffer waits for its reader") {
  Pair pair = connected();
  std::thread reader([&] {
    auto message = pair.theirs.receive(base::Deadline::never());
    CHECK(message.has_value());
    CHECK(std::get<wire::Exchange>((*message)->body).contributions.at(0).size() == 8 << 20);
  });

  auto sent = pair.ours.send(large_message());

  reader.join();
  CHECK(sent.has_value());
}

TEST_CASE("send gives up on a reader that does not read") {
  Pair pair = connected();

  auto sent = pair.ours.send(large_message(), base::Deadline::after(20ms));

  REQUIRE(!sent.has_value());
  CHECK(sent.error().code == base::Errc::timed_out);
}

TEST_CASE("an enqueued message goes out as the reader takes it, without waiting") {
  Pair pair = connected();
  pair.ours.enqueue(large_message());
  std::optional<wire::Message> message;

  while (!message) {
    REQUIRE(pair.ours.flush());
    message = base::value_or_throw(pair.theirs.receive(now()));
  }

  CHECK(!pair.ours.waits_for_reader());
}

TEST_CASE("what was sent before the other end went is still received, then its end") {
  auto ends = base::value_or_throw(wire::make_channel());
  wire::Channel ours = std::move(ends.first);
  {
    wire::Channel theirs(std::move(ends.second));
    REQUIRE(theirs.send({1, wire::Done{}}));
  }

  auto message = ours.receive(now());
  auto end = ours.receive(now());
  auto sent = ours.send({-1, wire::Done{}});

  REQUIRE(message.has_value());
  CHECK(message->has_value());
  REQUIRE(!end.has_value());
  CHECK(end.error().code == base::Errc::crashed);
  REQUIRE(!sent.has_value()); // and no SIGPIPE
  CHECK(sent.error().code == base::Errc::crashed);
}

TEST_CASE("garbage on the channel is a protocol error") {
  auto ends = base::value_or_throw(wire::make_channel());
  REQUIRE(::write(ends.second.get(), "hello\n", 6) == 6);

  auto message = ends.first.receive(base::Deadline::never());

  REQUIRE(!message.has_value());
  CHECK(message.error().code == base::Errc::protocol);
}

TEST_CASE("both ends of a new channel are close-on-exec") {
  auto ends = base::value_or_throw(wire::make_channel());

  CHECK((::fcntl(ends.first.fd(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(ends.second.get(), F_GETFD) & FD_CLOEXEC) != 0);
}
