// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/frame_socket.h"
#include "launch/supervisor/launcher.h"

#include <map>

// How the supervisors of a job without MPI find each other: rank 0 listens where the launcher's
// variables say, until all have joined, and the others connect to it. It then tells each where its
// parent in the tree listens. So rank 0 exchanges four small messages with each, however many there
// are.
namespace ncclprobe::launch {

// The connections to other supervisors, by rank: on rank 0 to all, elsewhere to rank 0, the parent
// and the children. A process may join if it names this job's id and size and a rank that nobody
// has, and knows the secret. Who it joins proves that it knows the secret too. What is sent later
// is neither signed nor encrypted, as with MPI. A parent or child that cannot be reached is
// missing, with a warning. All ports are closed afterwards. Errors, on all that have joined:
// unavailable, with those that did not join, and why the last one was refused, or that rank 0 is
// gone.
Result<std::map<int, FrameSocket>> join_job(const EnvJob& job);

} // namespace ncclprobe::launch
