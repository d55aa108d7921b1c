// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/reachability.h"
#include "support/catch.h"

#include <optional>

using namespace ncclprobe;
using namespace std::chrono_literals;

TEST_CASE("a listening port can be connected to, several times, without anybody accepting") {
  auto listener = launch::Listener::open("127.0.0.1");
  REQUIRE(listener);
  CHECK(listener->port() > 0);

  for (int i = 0; i < 5; ++i)
    CHECK(launch::try_to_connect("127.0.0.1", listener->port(), 2s));
}

TEST_CASE("a port that nobody listens on is refused at once") {
  int port = 0;
  {
    auto listener = launch::Listener::open("127.0.0.1");
    REQUIRE(listener);
    port = listener->port();
  }

  auto connected = launch::try_to_connect("127.0.0.1", port, 2s);

  REQUIRE(!connected);
  CHECK(connected.error().code == base::Errc::unavailable);
  CHECK_THAT(connected.error().message, ContainsSubstring("refused"));
}

TEST_CASE("what is no address is an error of its own") {
  CHECK(launch::Listener::open("eth0").error().code == base::Errc::invalid_argument);
  CHECK(launch::try_to_connect("", 80, 1s).error().code == base::Errc::invalid_argument);
}

TEST_CASE("an address that is not of this host cannot be listened on") {
  CHECK(launch::Listener::open("192.0.2.77").error().code == base::Errc::unavailable);
}
