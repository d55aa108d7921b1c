// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/node_in_question.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

// Is a node suitable? By thresholds that the user sets: what is enough for one job is not for the
// next, so none is built in.
namespace ncclprobe::analysis {

enum class LinkKind { pcie, nvlink };
constexpr auto enum_names(LinkKind) {
  using enum LinkKind;
  return std::to_array<std::pair<LinkKind, std::string_view>>({{pcie, "pcie"}, {nvlink, "nvlink"}});
}

// Absent and empty: anything goes.
struct Policy {
  std::string name;
  std::optional<knowledge::VersionNumber> min_compute_capability;
  // Of a GPU, 1e9 bytes: as its driver reports it (of one that is only named, as published), less
  // what connecting with NCCL was measured to take of it.
  std::optional<double> min_memory_gb;
  std::optional<LinkKind> interconnect;    // nvlink: PCIe alone will not do
  std::optional<double> min_link_gb_per_s; // between GPUs, of one GPU in one direction
  std::optional<int> min_gpus;             // of a node
  std::optional<bool> same_gpus;           // true: all of a node are of one model
  std::vector<std::string> features;       // "tf32", "bf16", "fp8", "fp4", "tma", "multicast"
  std::optional<double> max_power_w;       // of a GPU, as published
  std::optional<knowledge::VersionNumber> min_driver_cuda; // newest CUDA that the driver knows
  std::optional<double> max_price;                         // of a GPU, as the user gives prices
  bool operator==(const Policy&) const = default;
};
// Those that Policy::features may name.
const std::vector<std::string>& policy_features();

// One requirement.
struct PolicyRule {
  std::string what;  // "compute capability"
  std::string asked; // "at least 8.0"
  std::string found; // "9.0"
  Known met = Known::unknown;
};
struct PolicyPart {
  std::string name; // "8 x NVIDIA H200"; of the node as a whole: empty
  std::vector<PolicyRule> rules;
};
// no: some rule is not met; unknown: of some it is not known.
struct PolicyVerdict {
  std::string node;
  Known suits = Known::unknown;
  std::vector<PolicyPart> parts; // its GPUs, then the node, if any rule is of it
};
PolicyVerdict judge(const Policy& policy, const NodeInQuestion& node, const Prices& prices);

// The gravest of all.
Known worst(const std::vector<PolicyVerdict>& verdicts);

std::string render_policy(const Policy& policy, const std::vector<PolicyVerdict>& verdicts);
nlohmann::json policy_json(const Policy& policy, const std::vector<PolicyVerdict>& verdicts);

} // namespace ncclprobe::analysis
