// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/schedule.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ncclprobe::analysis {

// One rank's side of a message of the timed region. A send and a receive are the sides of one
// message if communicator, sender, receiver and number are equal: the order between two ranks is
// the same on both (model/schedule.h).
struct MessageSide {
  int operation = 0;     // SendOp or RecvOp
  int launched_with = 0; // the end of its group, which launches it; without a group itself
  int stream = 0;
  int communicator = 0;
  int rank = 0; // global, whose side this is
  int from = 0; // global
  int to = 0;
  std::uint32_t number = 0; // of this communicator's messages that way in one launch, from 0
  std::uint64_t bytes = 0;
  bool sends = false;
};

// Of all ranks, in the order of the operations. Empty messages are left out: nothing is launched
// for them.
std::vector<MessageSide> message_sides(const model::Schedule& schedule, int world_size);

// What the timed region's kernels send and receive on a rank, by the operation that launches them
// and in the order in which their stream runs them: a captured graph, at the region's first
// operation, has one of each of its groups and single messages. Left out where several streams
// share the messages, which kernel has which is then not known.
using MessagesByLaunch = std::map<std::pair<int, int>, std::vector<std::vector<MessageSide>>>;
MessagesByLaunch messages_by_launch(const model::Schedule& schedule,
                                    const std::vector<MessageSide>& sides); // by operation, rank

} // namespace ncclprobe::analysis
