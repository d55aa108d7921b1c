// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/collectives.h"

namespace ncclprobe::host {

// Replaces Gloo's reduce_scatter, which counts in int and takes no element functions. A ring: the
// partial result of each block travels around once, gains one rank's share at each stop, and ends
// at its owner. Blocks are cut into chunks, so one chunk is reduced while the next is on its
// way.
void ring_reduce_scatter(Mesh&, std::uint64_t slot, const HostCollective&, std::size_t chunk_bytes,
                         std::vector<std::byte>& scratch);

} // namespace ncclprobe::host
