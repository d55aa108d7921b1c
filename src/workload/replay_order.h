// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/captured_step.h"

#include <cstddef>
#include <map>
#include <set>
#include <vector>

// The calls of a captured step in one order that holds on all ranks (Schedule's rule), without the
// ranks that are not replayed. From here on, ranks are those of the replay.
namespace ncclprobe::workload {

struct ReplayCommunicator {
  int captured = 0;           // index in CapturedStep::communicators
  std::vector<int> ranks;     // in communicator order; at least two
  std::map<int, int> numbers; // by rank in the captured communicator: rank in this one
  int rank_of(int captured_rank) const {
    const auto found = numbers.find(captured_rank);
    return found == numbers.end() ? 0 : found->second;
  }
};

struct ReplayCall {
  int operation = 0; // index in CapturedStep::operations
  bool sends = false;
};

// A collective of all its ranks, or the messages that one rank launches together.
struct ReplayUnit {
  int communicator = 0; // index in ReplayOrder::communicators
  bool collective = true;
  int rank = -1; // of messages
  std::vector<ReplayCall> calls;
  std::map<int, double> compute_ns; // before it, by rank
  std::set<int> waiting;            // ranks whose computing waits for its end
};

struct ReplayOrder {
  std::vector<ReplayCommunicator> communicators;
  std::vector<ReplayUnit> units;
  std::map<int, double> rest_ns; // computing behind the last unit, by rank
};

// Errors: unsupported, as make_replay_step().
base::Result<ReplayOrder> replay_order(const model::CapturedStep& step,
                                       const std::vector<int>& kept);

} // namespace ncclprobe::workload
