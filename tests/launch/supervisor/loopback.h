// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"
#include "support/catch.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace ncclprobe::test_launch {

struct Listener {
  base::Fd socket;
  int port = 0;
};
inline Listener listen_on_loopback() {
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

} // namespace ncclprobe::test_launch
