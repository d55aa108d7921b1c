// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"

#include <cstdint>
#include <string>

// The contents of frames (frame_socket.h) between supervisors of a job without MPI, except those of
// the tree (tree_mail.h). Until a connection has joined, they come from strangers.
namespace ncclprobe::launch {

struct Challenge {
  std::string protocol, nonce;
};
NCCLPROBE_FIELDS(Challenge, protocol, nonce)

struct Hello {
  std::string protocol, job, nonce, proof;
  int rank = 0;
  int size = 0;
  std::string address; // for its children in the tree
  int port = 0;        // 0: none
};
NCCLPROBE_FIELDS(Hello, protocol, job, nonce, proof, rank, size, address, port)

struct Welcome {
  std::string problem, proof;
};
NCCLPROBE_FIELDS(Welcome, problem, proof)

// Rank 0's last words while the job assembles: why there will be no job, or where the receiver's
// parent in the tree listens. Its length does not depend on the number of ranks.
struct Assembled {
  std::string problem, hint, address;
  int port = 0; // 0: the parent has none, or is rank 0
};
NCCLPROBE_FIELDS(Assembled, problem, hint, address, port)

// What a supervisor says in the first gather. All of a host say the same, unless one is alone.
struct Place {
  std::string host;
  bool alone = false; // it did not reach its parent
};
NCCLPROBE_FIELDS(Place, host, alone)

struct ClockTurn {
  int comparison = 0;
  int pings = 0;
};
NCCLPROBE_FIELDS(ClockTurn, comparison, pings)

// A question, and its answer: one that comes late is not taken for another's.
struct ClockQuestion {
  int comparison = 0;
  int ping = 0;
  std::int64_t answered_ns = 0;
  bool answers(const ClockQuestion& question) const {
    return comparison == question.comparison && ping == question.ping;
  }
};
NCCLPROBE_FIELDS(ClockQuestion, comparison, ping, answered_ns)

} // namespace ncclprobe::launch
