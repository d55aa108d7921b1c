// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/schedule.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ncclprobe::analysis {

// One rank's side of a message in the timed region. A send and a receive are the sides of one
// message if communicator, sender, receiver and number are equal: both ranks have the same order
// (model/schedule.h).
struct MessageSide {
  int operation = 0; // SendOp or RecvOp
  int launched_with =
      0; // the end of its group, which launches it; without a group the operation itself
  int stream = 0;
  int communicator = 0;
  int rank = 0; // global, the rank of this side
  int from = 0; // global
  int to = 0;
  std::uint32_t number =
      0; // number of this communicator's message in that direction within one launch, from 0
  std::uint64_t bytes = 0;
  bool sends = false;
};

// For all ranks, in the order of the operations. Empty messages are omitted: they launch nothing.
std::vector<MessageSide> message_sides(const model::Schedule& schedule, int world_size);

// The sends and receives of the timed region's kernels on a rank, by the operation that launches
// them, in the order of their stream. A captured graph, at the region's first operation, has one
// kernel for each of its groups and single messages. Omitted if several streams share the messages,
// because the assignment to kernels is then unknown.
using MessagesByLaunch = std::map<std::pair<int, int>, std::vector<std::vector<MessageSide>>>;
MessagesByLaunch messages_by_launch(const model::Schedule& schedule,
                                    const std::vector<MessageSide>& sides); // by operation, rank

} // namespace ncclprobe::analysis
