// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/fleet.h"
#include "launch/supervisor/frame_socket.h"
#include "launch/supervisor/launcher.h"
#include "launch/supervisor/tree_mail.h"
#include "support/catch.h"
#include "wire/packing.h"

#include <future>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thread>

using namespace ncclprobe;
using namespace std::chrono_literals;

namespace {

// As tcp_join.cpp has them.
struct Challenge {
  std::string protocol, nonce;
};
NCCLPROBE_FIELDS(Challenge, protocol, nonce)
struct Welcome {
  std::string problem, proof;
};
NCCLPROBE_FIELDS(Welcome, problem, proof)

struct Listener {
  base::Fd socket;
  int port = 0;
};
Listener listen_on_loopback() {
  Listener out{base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  REQUIRE(::bind(out.socket.get(), any, size) == 0);
  REQUIRE(::listen(out.socket.get(), 1) == 0);
  REQUIRE(::getsockname(out.socket.get(), any, &size) == 0);
  out.port = ntohs(address.sin_port);
  return out;
}

void hold_back(const launch::FrameSocket& socket, bool whether) {
  const int value = whether ? 1 : 0;
  REQUIRE(::setsockopt(socket.fd(), IPPROTO_TCP, TCP_CORK, &value, sizeof value) == 0);
}

} // namespace

TEST_CASE("what rank 0 sends in one piece with the welcome is heard at once") {
  const Listener listener = listen_on_loopback();
  launch::EnvJob job;
  job.rank = 1;
  job.size = 2;
  job.address = "127.0.0.1";
  job.port = listener.port;
  auto rank_1 = std::async(std::launch::async, [&job] { return launch::make_tcp_fleet(job); });

  launch::FrameSocket rank_0(base::Fd(::accept(listener.socket.get(), nullptr, nullptr)));
  rank_0.enqueue({launch::FrameKind::challenge, 0, 0,
                  wire::pack(Challenge{"ncclprobe supervisors 1", "nonce"})});
  REQUIRE(rank_0.flush());
  std::optional<launch::Frame> hello;
  for (int i = 0; i < 1000 && !hello; ++i) {
    REQUIRE(rank_0.receive());
    hello = rank_0.next();
    std::this_thread::sleep_for(5ms);
  }
  REQUIRE(hello);
  hold_back(rank_0, true);
  rank_0.enqueue({launch::FrameKind::welcome, 0, 1, wire::pack(Welcome{})});
  const launch::DownBundle answer{
      {{1, 1, 0, {}, wire::pack(launch::Gathered{"rank 0 gives up", "", {}})}}};
  rank_0.enqueue({launch::FrameKind::message, 0, 1, launch::encode_mail(answer)});
  REQUIRE(rank_0.flush());
  hold_back(rank_0, false);

  const auto fleet = rank_1.get();

  REQUIRE(!fleet);
  CHECK(fleet.error().message == "rank 0 gives up");
}
