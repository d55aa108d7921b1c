// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <cstdint>

namespace ncclprobe::workload {

struct CollectiveRequest {
  model::Collective collective = model::Collective::all_reduce;
  std::uint64_t bytes = 0; // message size S as nccl-tests means it for this collective (see below)
  model::DataType type = model::DataType::f32;
  model::ReduceOp op = model::ReduceOp::sum;
  model::Placement placement = model::Placement::out_of_place;
  int root = 0;
  int ranks = 1;
};

// One cell that measures one collective on all ranks: one world communicator, one stream.
//
// S is the buffer of one rank for all_reduce, broadcast, reduce and send_recv, and the total over
// the ranks (the larger of a rank's two buffers) for all_gather, reduce_scatter, all_to_all, gather
// and scatter. As in nccl-tests, S is rounded down to whole elements, and a rank's block to a
// multiple of 16 bytes where one fits; label.bytes holds the S that results. Source:
// nccl-tests 2.19, *GetCollByteCount in src/*.cu.
//
// Errors: unsupported for all_to_all and send_recv in place (NCCL has no such call);
// invalid_argument for a root outside the ranks.
base::Result<model::Cell> make_collective_cell(const CollectiveRequest& request,
                                               const model::Timing& timing);

} // namespace ncclprobe::workload
