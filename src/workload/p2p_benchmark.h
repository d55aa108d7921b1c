// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cell_label.h"
#include "model/trial.h"

#include <cstdint>

namespace ncclprobe::workload {

// One cell of a P2P matrix: all transfers of the label at once, each of `bytes` (in a latency cell
// the chain's length, in `together` the size of each of a rank's blocks). Data is checked: all
// copied data, or the end of the pointer chase. Definitions follow nvbandwidth 0.8, so figures
// are comparable:
//   bandwidth  bytes / time between events around back-to-back copies, without enqueueing
//              (memcpy.cpp, MemcpyOperation::doMemcpyCore; 512 MiB by default)
//   both ways  the same for each direction while the other runs too, and their sum
//   latency    time / hops of a chase in steps of 128 bytes through 2 MiB, mean over
//              multiprocessors (kernels.cu, latencyPtrChaseKernel)
struct P2pCellRequest {
  model::P2pLabel label;
  std::uint64_t bytes = 0;
  int ranks = 1;                  // of the trial
  std::uint64_t shared_bytes = 0; // mode ipc: size of the two buffers that every rank shares
};

inline constexpr std::uint64_t k_chain_bytes = std::uint64_t{2} << 20;
inline constexpr std::uint64_t k_chain_stride_bytes = 128;
inline constexpr std::uint64_t k_chase_hops = 8192;

model::Cell make_p2p_cell(const P2pCellRequest& request);

} // namespace ncclprobe::workload
