// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "counted_memory.h"

#include "launch/supervisor/frame_socket.h"
#include "support/catch.h"

#include <sys/socket.h>
#include <vector>

using namespace ncclprobe;

// Rank 0 of a job without MPI has one for every other rank.
TEST_CASE("a socket keeps no memory for frames that were taken") {
  constexpr int k_sockets = 64;
  std::vector<launch::FrameSocket> ours, theirs;
  for (int i = 0; i < k_sockets; ++i) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ours.emplace_back(base::Fd(ends[0]));
    theirs.emplace_back(base::Fd(ends[1]));
  }
  test_launch::reset_counted_bytes();
  const test_launch::Counted counted;

  for (std::size_t i = 0; i < ours.size(); ++i)
    for (std::size_t bytes : {10, 4000}) {
      theirs[i].enqueue({launch::FrameKind::message, 1, 0, std::string(bytes, 'x')});
      REQUIRE(theirs[i].flush());
      REQUIRE(ours[i].receive());
      REQUIRE(ours[i].next().value().bytes.size() == bytes);
      REQUIRE(ours[i].receive()); // nothing more came
    }

  CHECK(test_launch::counted_bytes() < k_sockets * 100);
}
