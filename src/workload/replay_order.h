// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/captured_step.h"

#include <cstddef>
#include <map>
#include <set>
#include <vector>

// The calls of one captured step in one order that holds on all ranks (Schedule's rule), without
// the ranks that are not replayed. From here on, ranks are those of the replay.
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
  // The host's time before it, of ranks whose host may be late.
  struct Host {
    double ns = 0;
    bool waits = false; // CapturedCall::host_waits
  };
  std::map<int, Host> hosts;
};

struct ReplayOrder {
  std::vector<ReplayCommunicator> communicators;
  std::vector<ReplayUnit> units;
  std::map<int, double> rest_ns;      // computing behind the last unit, by rank
  std::map<int, double> rest_host_ns; // the host's time there
};

// Of one of the replayed steps (CapturedCall::step); communicators are the same for all. Errors:
// unsupported, as make_replay_step().
base::Result<ReplayOrder> replay_order(const model::CapturedStep& step,
                                       const std::vector<int>& kept, int number);

} // namespace ncclprobe::workload
