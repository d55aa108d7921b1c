// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_report.h"

#include <string>
#include <vector>

// Verdicts in words, for the text and for programs.
namespace ncclprobe::analysis::fleet {

const NodeVerdict& verdict_of(const Checked& checked, int node);
// What the node's standing rests on: the slowest of its bad rails, or the whole node. Null: it was
// not measured.
const SpeedEstimate* shown_estimate(const NodeVerdict& node);
// The same path against an earlier check.
const SpeedEstimate* baseline_estimate(const NodeVerdict& node);

bool is_link(const GroupVerdict& group);
std::vector<std::string> names_of(const Checked& checked, const GroupVerdict& group);

// "0.61x [0.58, 0.64], slow in 6 of 6, rail 3": why a node is not good. Empty for good ones.
std::string reason_of(const Checked& checked, int node);
std::string reason_of(const GroupVerdict& group);
Reason reason_id_of(const NodeVerdict& node);
Reason reason_id_of(const GroupVerdict& group);

} // namespace ncclprobe::analysis::fleet
