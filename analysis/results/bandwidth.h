// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cell_label.h"

#include <cstdint>
#include <optional>

// Bandwidths exactly as nccl-tests defines them, so figures are comparable.
// GB = 1e9 bytes. The size S is CellLabel::bytes, which follows nccl-tests' rule per collective:
//   all_reduce, broadcast, reduce, send_recv     count x element size
//   all_gather, reduce_scatter, all_to_all,
//   gather, scatter, hypercube                   count x element size x ranks
//   all_to_all_v                                 all bytes that a rank sends
// Source: nccl-tests 2.19, src/<collective>.cu, the *GetBw functions (lines given below).
namespace ncclprobe::analysis {

// S / t. Zero bytes give 0. Nothing for a time that is not above zero.
std::optional<double> algbw_gb_per_s(std::uint64_t bytes, double time_ns);

// busbw / algbw in a communicator of `ranks`; 0 for one rank where the formula says so.
//   all_reduce                                   2(n-1)/n   all_reduce.cu:60-63
//   reduce_scatter                               (n-1)/n    reduce_scatter.cu:38-41
//   all_gather                                   (n-1)/n    all_gather.cu:39-42
//   all_to_all                                   (n-1)/n    alltoall.cu:49-52
//   gather, scatter                              (n-1)/n    gather.cu:39, scatter.cu:35
//   all_to_all_v                                 (n-1)/n    alltoallv.cu:AlltoAllvGetBw
//   hypercube                                    (n-1)/n    hypercube.cu:HyperCubeGetBw, which
//   takes
//     (n-1) blocks for S in its algbw and 1 for the factor: the same busbw, another algbw
//   broadcast, reduce                            1          broadcast.cu:35, reduce.cu:37
//   send_recv                                    1          sendrecv.cu:39-42
// The factors describe a ring. With in-switch reduction (NVLS, SHARP) less crosses the wire, so
// busbw can exceed the rate of the link. Nothing if ranks < 1.
std::optional<double> busbw_factor(model::Collective collective, int ranks);

// Nothing for what is no collective.
std::optional<double> busbw_factor(const model::CellLabel& label, int ranks);

} // namespace ncclprobe::analysis
