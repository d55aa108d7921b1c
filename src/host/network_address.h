// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <string>

namespace ncclprobe::host {

// The numeric address on which a rank of this host is reached by the others:
//   - GLOO_SOCKET_IFNAME in the environment: that interface's
//   - all ranks on one host: a loopback address of the rank's own (127.1.y.z). Every pair of ranks
//     listens on a port of its own, and with one address for all, 256 ranks run out of ports.
//   - otherwise: the host's first IPv4 address that is not loopback
// Throws base::Exception (unavailable) if there is none.
std::string address_of_rank(const backend::Options&, int global_rank);

} // namespace ncclprobe::host
