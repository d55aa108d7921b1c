// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/node_in_question.h"

#include <optional>
#include <string>
#include <vector>

// The newest software that all nodes of a set can run, according to the tables (compat.json). Facts
// missing there stay unknown.
namespace ncclprobe::analysis {

struct SupportedStack {
  std::string name; // of the node
  std::string gpus;
  std::optional<knowledge::VersionNumber> driver; // installed driver; absent: any
  // CUDA toolkits in the tables that compile for all its GPUs and that its driver runs: the first
  // and the last. Absent: none, or unknown (`problem`).
  std::optional<knowledge::VersionNumber> first_cuda;
  std::optional<knowledge::VersionNumber> newest_cuda;
  std::optional<knowledge::VersionNumber> least_driver_branch; // first branch that knows its GPUs
  std::optional<knowledge::VersionNumber> last_driver_branch;  // absent: newer ones know them too
  bool no_common_branch = false; // the newest GPU needs a driver that no longer knows the oldest
  // Wheels with code for all GPUs that the driver runs. Nodes with Arm CPUs install the wheel of
  // that name for Arm.
  const knowledge::PytorchWheel* newest_wheel = nullptr;
  std::string problem;
};

struct CommonStack {
  std::vector<SupportedStack> nodes;
  SupportedStack all; // name "all"
  // Drivers for all.newest_cuda: the first with all of its features, and the oldest that runs it
  // and knows all GPUs.
  std::optional<knowledge::VersionNumber> full_driver;
  std::optional<knowledge::VersionNumber> least_driver;
  // Nodes without which `all` would be newer.
  std::vector<std::string> held_back_by;
};
CommonStack common_stack(const std::vector<NodeInQuestion>& nodes);

Report common_stack_report(const CommonStack& stack);

} // namespace ncclprobe::analysis
