// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/frame_socket.h"
#include "launch/supervisor/launcher.h"
#include "launch/supervisor/tcp_port.h"
#include "launch/supervisor/tree.h"

#include <map>

// How the supervisors of a job without MPI find each other: rank 0 listens where the launcher's
// variables say, until all have joined, and the others connect to it.
namespace ncclprobe::launch {

// The connections to other supervisors, by rank: on rank 0 to all, elsewhere to rank 0. A process
// may join if it names this job's id and size and a rank that nobody has, and knows the secret.
// Rank 0 proves that it knows the secret too. What is sent later is neither signed nor encrypted,
// as with MPI. Errors: unavailable, with those that did not join, and why the last one was refused.
Result<std::map<int, FrameSocket>> join_job(const EnvJob& job);

// The connections of this rank in the tree, to its parent and its children, as for join_job(). The
// port is closed afterwards. Rank 0 has them already. Who cannot be reached is missing, with a
// warning.
std::map<int, FrameSocket> join_tree(const EnvJob& job, const TreePlace& place, TreePort own,
                                     const std::string& parent_address, int parent_port);

} // namespace ncclprobe::launch
