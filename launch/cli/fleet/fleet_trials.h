// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_check.h"
#include "base/error.h"
#include "launch/cli/fleet/fleet_nodes.h"
#include "model/record.h"

#include <string>
#include <vector>

// Groups of nodes as trials, and records of these trials as results of the groups.
namespace ncclprobe::cli {

struct FleetMeasurement {
  model::Collective collective = model::Collective::all_reduce;
  std::uint64_t bytes = 0;
};

// Ranks of the launch, group by group, in each rail by rail: so the communicators of whole groups
// and of rails hold neighbours.
std::vector<int> fleet_ranks(const FleetNodes& nodes,
                             const std::vector<analysis::fleet::Group>& groups);

// All groups at once, each in a communicator of its own: one cell of whole nodes, and with several
// ranks a node a second one, in which rail r of a group is a communicator. `of_defaults`: a trial
// of the launch's settings with one cell, which says how to time. Errors: those of
// make_collective_cell().
base::Result<model::TrialSpec> fleet_trial(const FleetNodes& nodes,
                                           const model::TrialSpec& of_defaults,
                                           const FleetMeasurement& what,
                                           const std::vector<analysis::fleet::Group>& groups,
                                           int id);

// The times of these groups, in their order: the median over batches of the slowest rank. A group
// without a result of each path is broken.
std::vector<analysis::fleet::Meeting>
fleet_meetings(const FleetNodes& nodes, const model::TrialRecord& trial,
               const std::vector<analysis::fleet::Group>& groups, int round);

// What a trial that failed says of its groups.
struct FleetFailure {
  std::vector<analysis::fleet::Fault> faults; // nodes that are to blame for sure
  std::vector<analysis::fleet::Group> blamed; // one of their nodes may be
  std::vector<analysis::fleet::Group> others; // lost their results
};
FleetFailure fleet_failure(const FleetNodes& nodes, const model::TrialRecord& trial,
                           const std::vector<analysis::fleet::Group>& groups, int round);

} // namespace ncclprobe::cli
