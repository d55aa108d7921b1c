// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_check.h"
#include "analysis/report_value/report_value.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ncclprobe::analysis::fleet {

// The whole fleet against an earlier check of it.
struct BaselineComparison {
  std::string file;
  double ratio = 1;  // of the usual bandwidths; below 1: slower now
  Interval interval; // 95%
  bool slower = false;
  int unknown_nodes = 0; // of this check
};

// A check, as far as it got.
struct Checked {
  CheckOptions options;
  std::vector<std::string> names; // of the nodes
  bool whole_hosts = true;        // a node is a host; otherwise some ranks of one
  std::string backend;
  std::string collective;
  std::uint64_t bytes = 0;
  int ranks_per_node = 1;
  double usual_gb_per_s = 0;       // busbw of a group of good nodes; 0: unknown
  double large_usual_gb_per_s = 0; // of the later groups
  int rounds = 0;
  int meetings = 0;
  Judgement judgement;
  std::optional<BaselineComparison> baseline;
  std::string run_file;
  std::string why_incomplete; // empty: it ran to its end
};

// True if a node, a link or a rail is named.
bool names_any(const Checked& checked);

Report fleet_report(const Checked& checked);

} // namespace ncclprobe::analysis::fleet
