// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/node_in_question.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

// The newest software that a set of nodes can run all alike, by the tables (compat.json); what they
// do not know stays unknown.
namespace ncclprobe::analysis {

struct SupportedStack {
  std::string name; // of the node
  std::string gpus;
  std::optional<knowledge::VersionNumber> driver; // that is installed; absent: free to choose
  // CUDA toolkits of the tables that compile for all its GPUs and that its driver runs: the first
  // and the last. Absent: none, or unknown (`problem`).
  std::optional<knowledge::VersionNumber> first_cuda;
  std::optional<knowledge::VersionNumber> newest_cuda;
  std::optional<knowledge::VersionNumber> least_driver_branch; // that knows its GPUs
  std::optional<knowledge::VersionNumber> last_driver_branch;  // absent: newer ones know them too
  bool no_common_branch = false; // the newest GPU asks for one that no longer knows the oldest
  // With code for all, that its driver runs. Nodes with Arm CPUs install the wheel of that name
  // that is made for Arm.
  const knowledge::PytorchWheel* newest_wheel = nullptr;
  std::string problem;
};

struct CommonStack {
  std::vector<SupportedStack> nodes;
  SupportedStack all; // name "all"
  // Drivers for all.newest_cuda: in which all of its features are there, and the oldest that runs
  // it and knows all GPUs.
  std::optional<knowledge::VersionNumber> full_driver;
  std::optional<knowledge::VersionNumber> least_driver;
  // Those by which `all` is older than it would be without them.
  std::vector<std::string> held_back_by;
};
CommonStack common_stack(const std::vector<NodeInQuestion>& nodes);

std::string render_common_stack(const CommonStack& stack);
nlohmann::json common_stack_json(const CommonStack& stack);

} // namespace ncclprobe::analysis
