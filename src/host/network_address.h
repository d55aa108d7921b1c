// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <string>

namespace ncclprobe::host {

// The numeric address at which other ranks reach a rank on this host:
//   - GLOO_SOCKET_IFNAME in the environment: that interface's
//   - all ranks on one host: a separate loopback address per rank (127.1.y.z). Every pair of ranks
//     listens on its own port, and 256 ranks with one address would run out of ports.
//   - otherwise: the host's first IPv4 address that is not loopback
// Throws Exception (unavailable) if there is none.
std::string address_of_rank(const backend::Options&, int global_rank);

} // namespace ncclprobe::host
