// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/no_answer.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace std::chrono_literals;

TEST_CASE("who did not answer is named by rank and host, if anybody knows the hosts") {
  const std::vector<std::string> hosts{"alpha", "alpha", "beta", "beta", "gamma"};

  CHECK(launch::no_answer({2, 3, 4}, hosts, 180s, launch::Network::mpi).message ==
        "ranks 2,3 on beta, rank 4 on gamma did not answer over MPI within 180 s");
  CHECK(launch::no_answer({1}, {}, 500ms, launch::Network::tcp).message ==
        "rank 1 did not answer over TCP within 0.5 s");
}
