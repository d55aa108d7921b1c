// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/enum_names.h"

#include <string>
#include <vector>

namespace ncclprobe::model {

// ce, ce_read: a copy engine of the source writes, or one of the target reads. sm_write, sm_read:
// the same with kernels. staged: copy engines through host memory, with the direct path disabled.
// host, pageable: copy engines between a GPU and pinned or pageable memory of its host. latency:
// one thread of the row's GPU follows pointers through the column's memory. sendrecv, pingpong:
// messages of the communication library, which also work between processes and hosts.
enum class P2pMethod {
  ce,
  ce_read,
  sm_write,
  sm_read,
  staged,
  host,
  pageable,
  latency,
  sendrecv,
  pingpong
};
constexpr bool measures_latency(P2pMethod method) {
  return method == P2pMethod::latency || method == P2pMethod::pingpong;
}

// uni: one pair at a time, one way (on each host simultaneously). bi: one pair, both ways at once.
// all: each rank sends to one rank and receives from another, all at once; one round for each
// distance between ranks. together: every pair at once.
enum class P2pDirection { uni, bi, all, together };

// direct: one process drives all GPUs of a host. ipc: one process each, memory mapped by CUDA IPC.
enum class P2pMode { direct, ipc };

// A rank's device, or host memory close to it.
struct P2pEnd {
  bool host = false;
  int rank = 0;
  auto operator<=>(const P2pEnd&) const = default;
};
NCCLPROBE_DESCRIBE(
    P2pEnd,
    NCCLPROBE_COLUMN(host, "1: host memory near this rank's device; 0: memory of the device"),
    NCCLPROBE_COLUMN(rank, "global rank at this end"))

struct P2pTransfer {
  P2pEnd from;
  P2pEnd to;
  auto operator<=>(const P2pTransfer&) const = default;
};
NCCLPROBE_DESCRIBE(P2pTransfer, NCCLPROBE_COLUMN(from, "source of the data"),
                   NCCLPROBE_COLUMN(to, "target of the data"))

// A cell of a P2P matrix.
struct P2pLabel {
  P2pMode mode = P2pMode::direct;
  P2pMethod method = P2pMethod::ce;
  P2pDirection direction = P2pDirection::uni;
  std::vector<P2pTransfer> transfers; // at once
  auto operator<=>(const P2pLabel&) const = default;
};
NCCLPROBE_DESCRIBE(
    P2pLabel,
    NCCLPROBE_COLUMN(mode, "direct: one process drives all GPUs of a host; ipc: one "
                           "process per GPU"),
    NCCLPROBE_COLUMN(method, "copy engines: ce, ce_read, staged, host, pageable; kernels: "
                             "sm_write, sm_read, latency; messages: the others"),
    NCCLPROBE_COLUMN(direction, "uni: one pair, one way; bi: one pair, both ways; all: each rank "
                                "sends to one and receives from one; together: every pair"),
    NCCLPROBE_COLUMN(transfers, "the transfers of each cell, which run at once",
                     base::Rows{"p2p_transfers"}))

// The rank whose samples time the transfer: the one that drives it, or that receives the message.
int timed_rank(P2pMethod method, const P2pTransfer& transfer);

// "0", "h0".
std::string to_string(const P2pEnd& end);

} // namespace ncclprobe::model
