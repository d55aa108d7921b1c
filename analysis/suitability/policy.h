// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/node_in_question.h"

#include <optional>
#include <string>
#include <vector>

// Is a node suitable? The user sets the thresholds: what is enough for one job is not for the next,
// so there are no built-in ones.
namespace ncclprobe::analysis {

enum class LinkKind { pcie, nvlink };

// Absent and empty: no requirement.
struct Policy {
  std::string name;
  std::optional<knowledge::VersionNumber> min_compute_capability;
  // Per GPU, 1e9 bytes: as its driver reports it (for a GPU by name, as published), minus the
  // measured memory for connecting with NCCL.
  std::optional<double> min_memory_gb;
  std::optional<LinkKind> interconnect;    // nvlink: PCIe alone is not enough
  std::optional<double> min_link_gb_per_s; // between GPUs, of one GPU in one direction
  std::optional<int> min_gpus;             // of a node
  std::optional<bool> same_gpus;           // true: all GPUs of a node must be one model
  std::vector<std::string> features;       // "tf32", "bf16", "fp8", "fp4", "tma", "multicast"
  std::optional<double> max_power_w;       // of a GPU, as published
  std::optional<knowledge::VersionNumber> min_driver_cuda; // newest CUDA that the driver knows
  std::optional<double> max_price;                         // per GPU, from the user's prices
  bool operator==(const Policy&) const = default;
};
// Valid names for Policy::features.
const std::vector<std::string>& policy_features();

// One requirement.
struct PolicyRule {
  std::string what;  // "compute capability"
  std::string asked; // "at least 8.0"
  std::string found; // "9.0"
  Known met = Known::unknown;
};
NCCLPROBE_FIELDS(PolicyRule, what, asked, found, met)
struct PolicyPart {
  std::string gpus; // "8 x NVIDIA H200"; for the node as a whole: empty
  std::vector<PolicyRule> rules;
};
NCCLPROBE_FIELDS(PolicyPart, gpus, rules)
// no: some rule is not met; unknown: data for some rule is missing.
struct PolicyVerdict {
  std::string node;
  Known suits = Known::unknown;
  std::vector<PolicyPart> parts; // its GPUs, then the node, if any rule concerns it
};
NCCLPROBE_FIELDS(PolicyVerdict, node, suits, parts)
PolicyVerdict judge(const Policy& policy, const NodeInQuestion& node, const Prices& prices);

// The worst of all.
Known worst(const std::vector<PolicyVerdict>& verdicts);

// CSV has a row for each requirement.
Report policy_report(const Policy& policy, const std::vector<PolicyVerdict>& verdicts);

} // namespace ncclprobe::analysis
