// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/captured_step.h"
#include "model/trial.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Captured steps as a schedule. Every communicator has a stream of its own, and computing has one.
// Computing keeps the device busy for the measured time (CapturedStep::compute). A call waits for
// the computing before it, and computing goes on when the call has begun, or has ended
// (CapturedCall::is_waited_for). A step ends when all calls have ended.
//
// Of ranks whose host may be late (CapturedCall::host_ns), the host is a stream, too: a kernel that
// lasts as long as the host's own time before a call. It waits for nothing, as a host that only
// launches, unless the captured host waited. Computing and calls wait for it.
//
// On fewer ranks than were captured, communicators lose the ranks that are missing, and the others
// keep their counts: elements per rank stay the same. A communicator of one rank is left out. Its
// computing stays.
namespace ncclprobe::workload {

struct ReplayScope {
  int world = 1;         // ranks of the trial; those behind the replayed ones do nothing
  std::vector<int> kept; // captured ranks, by rank of the replay
  model::StepParts parts = model::StepParts::all;
};

// Errors: unsupported, with the operation, for a message to a rank that is not replayed (except
// between experts, where that share of the data is left out), a root that is not replayed, a rank
// that did not take part in a collective of its communicator, and calls whose order differs between
// ranks.
base::Result<model::Schedule> make_replay_step(const model::CapturedStep& step,
                                               const ReplayScope& scope);

// The captured ranks that are replayed: `wanted`, or the first ones. Errors: invalid_argument for
// ranks that were not captured, and for more ranks than the trial has.
base::Result<std::vector<int>> ranks_to_replay(const model::CapturedStep& step, int world,
                                               const std::optional<std::vector<int>>& wanted);

// What the replay lacks because ranks are missing, a sentence each.
std::vector<std::string> lost_by(const model::CapturedStep& step, const std::vector<int>& kept);

// The step's cells: the whole, its computing alone, its communication alone; of one rank only the
// first. `bytes`: free memory
// of a device. Errors: those of make_replay_step(); unsupported if it needs more memory.
base::Result<std::vector<model::Cell>> make_replay_cells(const model::CapturedStep& step,
                                                         const std::vector<int>& kept, int world,
                                                         const model::Timing& timing,
                                                         std::int64_t deadline_ns,
                                                         std::optional<std::uint64_t> bytes);

// The label of the markers around this operation: "3: all_reduce 25M".
std::string replayed_label(const model::CapturedStep& step, int operation);

} // namespace ncclprobe::workload
