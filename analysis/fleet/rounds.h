// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_check.h"

namespace ncclprobe::analysis::fleet {

// What to measure next. Groups share no node.
struct Round {
  std::vector<Group> groups;
  // Groups with a node that may hang: each in a trial of its own, so that no other result is lost.
  std::vector<Group> alone;
  bool empty() const { return groups.empty() && alone.empty(); }
};

// The next round: random groups of all nodes while most are undecided; then each suspect with
// partners proven good, and some groups of good nodes for comparison. When that has decided, the
// same with the good nodes in groups of `large_group`. Empty when all is decided, when the rounds
// are used up, or when too few nodes are left. Depends only on its arguments.
Round next_round(const CheckOptions& options, const History& history, const Judgement& judgement);

} // namespace ncclprobe::analysis::fleet
