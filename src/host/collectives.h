// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/mesh.h"
#include "host/settings.h"
#include "model/collective.h"
#include "model/data_type.h"
#include "model/reduce_op.h"

#include <cstddef>

namespace ncclprobe::host {

// A collective on plain memory. Placement rules and the meaning of count are NCCL's.
struct HostCollective {
  model::Collective collective;
  std::byte* send; // only written if it is also `receive`
  std::byte* receive;
  std::uint64_t count; // > 0
  model::DataType type;
  model::ReduceOp op;
  int root;
};

// State that one stream of a communicator keeps between its collectives.
struct CollectiveLane {
  std::shared_ptr<Mesh> mesh;     // null for a single rank
  std::vector<std::byte> scratch; // grows with the largest message
  std::uint32_t sequence = 0;     // the same on all ranks; distinguishes consecutive collectives
};

// Runs it in the calling thread, until this rank's part is done. Throws Gloo's exceptions.
void run_collective(const HostCollective&, CollectiveLane&, const HostSettings&);

} // namespace ncclprobe::host
