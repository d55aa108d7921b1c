// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "loopback.h"

#include "launch/supervisor/fleet.h"
#include "launch/supervisor/frame_socket.h"
#include "launch/supervisor/launcher.h"
#include "launch/supervisor/tcp_frames.h"
#include "support/catch.h"
#include "wire/packing.h"

#include <future>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

using namespace ncclprobe;
using namespace std::chrono_literals;

namespace {

// What rank 1 of two sees of a rank 0 that does what the test says.
struct RankZero {
  test_launch::Listener listener = test_launch::listen_on_loopback();
  launch::EnvJob job;
  std::optional<launch::FrameSocket> socket{};

  RankZero() {
    job.rank = 1;
    job.size = 2;
    job.address = "127.0.0.1";
    job.port = listener.port;
  }
  auto start_rank_1() {
    return std::async(std::launch::async, [this] { return launch::make_tcp_fleet(job); });
  }
  void challenge(const std::string& protocol) {
    socket.emplace(base::Fd(::accept(listener.socket.get(), nullptr, nullptr)));
    socket->enqueue(
        {launch::FrameKind::challenge, 0, 0, wire::pack(launch::Challenge{protocol, "nonce"})});
    REQUIRE(socket->flush());
  }
  void hear_hello() {
    std::optional<launch::Frame> hello;
    for (int i = 0; i < 1000 && !hello; ++i) {
      REQUIRE(socket->receive());
      hello = socket->next();
      std::this_thread::sleep_for(5ms);
    }
    REQUIRE(hello);
  }
  void welcome() {
    socket->enqueue({launch::FrameKind::welcome, 0, 1, wire::pack(launch::Welcome{})});
  }
};

void hold_back(const launch::FrameSocket& socket, bool whether) {
  const int value = whether ? 1 : 0;
  REQUIRE(::setsockopt(socket.fd(), IPPROTO_TCP, TCP_CORK, &value, sizeof value) == 0);
}

} // namespace

TEST_CASE("what rank 0 sends in one piece with the welcome is heard at once") {
  RankZero rank_0;
  auto rank_1 = rank_0.start_rank_1();

  rank_0.challenge("ncclprobe supervisors 2");
  rank_0.hear_hello();
  hold_back(*rank_0.socket, true);
  rank_0.welcome();
  rank_0.socket->enqueue({launch::FrameKind::assembled, 0, 1,
                          wire::pack(launch::Assembled{"rank 0 gives up", "", "", 0})});
  REQUIRE(rank_0.socket->flush());
  hold_back(*rank_0.socket, false);

  const auto fleet = rank_1.get();
  REQUIRE(!fleet);
  CHECK(fleet.error().message == "rank 0 gives up");
}

TEST_CASE("a rank that has joined names rank 0 if that ends before all have joined") {
  RankZero rank_0;
  auto rank_1 = rank_0.start_rank_1();

  rank_0.challenge("ncclprobe supervisors 2");
  rank_0.hear_hello();
  rank_0.welcome();
  REQUIRE(rank_0.socket->flush());
  rank_0.socket.reset();

  const auto fleet = rank_1.get();
  REQUIRE(!fleet);
  CHECK(fleet.error().message == "rank 0 ended before the others");
}

TEST_CASE("a rank does not join a rank 0 of another version") {
  RankZero rank_0;
  rank_0.job.join_patience = 1s;
  auto rank_1 = rank_0.start_rank_1();

  rank_0.challenge("ncclprobe supervisors 1");

  const auto fleet = rank_1.get();
  REQUIRE(!fleet);
  CHECK(fleet.error().message.ends_with("the listener is not an ncclprobe of this version"));
  (void)rank_0.socket->receive();
  CHECK(!rank_0.socket->next()); // it does not say who it is
}
