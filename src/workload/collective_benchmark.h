// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <cstdint>
#include <optional>

namespace ncclprobe::workload {

struct CollectiveRequest {
  model::Collective collective = model::Collective::all_reduce;
  std::uint64_t bytes = 0; // message size S as in nccl-tests for this collective (see below)
  model::DataType type = model::DataType::f32;
  model::ReduceOp op = model::ReduceOp::sum;
  model::Placement placement = model::Placement::out_of_place;
  int root = 0;
  int ranks = 1;

  std::optional<std::uint64_t> count; // in place of bytes: elements as NCCL's call counts them
  std::uint64_t offset = 0;           // offset of the data from the buffers' alignment, in elements
  int split = 1;   // > 1: this many communicators of neighbouring ranks, split off the world
  int streams = 1; // > 1: this many communicators over the same ranks, each on its own stream
  model::Launch launch = model::Launch::direct;
  model::Memory memory = model::Memory::plain;
  int priority = 0; // of the streams, as in CUDA
};

// One cell that measures one collective. All communicators (one, unless there is a split or several
// streams) run it at once, each on its own data. S and root are per communicator.
//
// For all_reduce, broadcast, reduce and send_recv, S is the buffer of one rank. For all_gather,
// reduce_scatter, all_to_all, all_to_all_v, gather, scatter and hypercube it is the total over the
// ranks (the larger of a rank's two buffers). As in nccl-tests, S is rounded down to whole
// elements, and a rank's block to a multiple of 16 bytes if one fits; label.bytes holds the result.
// A count is never rounded. Source: nccl-tests 2.19, *GetCollByteCount in src/*.cu.
//
// all_to_all_v uses nccl-tests' generated pattern: a block is proportional to the distance between
// the ranks (alltoallv.cu, AlltoAllvGetPeerBytesDistanceWeighted with spread 1), and empty for the
// rank itself. A rank's blocks are stored in the order of that distance. Its count is the mean over
// the ranks.
//
// Errors: unsupported if NCCL has no such call in place, if the ranks of a hypercube are not a
// power of two or do not split evenly, if a root is beyond the ranks of a split, or if averages
// cannot be checked; invalid_argument for a root outside the ranks.
Result<model::Cell> make_collective_cell(const CollectiveRequest& request,
                                         const model::Timing& timing);

} // namespace ncclprobe::workload
