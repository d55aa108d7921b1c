// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compute_capability.h"
#include "knowledge/version_number.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::knowledge {

// Releases with a fault that their release notes, or their successor's, name.
struct KnownBadNccl {
  std::optional<VersionNumber> from; // absent: all before
  VersionNumber until;
  ComputeCapability capability_from;
  bool needs_nvlink = false; // it affects only GPUs with NVLink
  bool arm_host = false;     // it affects only hosts with Arm CPUs
  std::string when;          // "ring all-reduce of 2 GPUs with LL128"
  std::string what;          // "can hang"
  std::string way_out;       // "NCCL 2.15.5, or NCCL_PROTO=^LL128"
  std::vector<std::string> sources;

  bool concerns(const VersionNumber& nccl) const;
  std::string text() const; // "2.14.3 and older ..." in one sentence
};
const std::vector<KnownBadNccl>& known_bad_nccl();

// A feature that works only if every link of its chain is present.
struct FeatureChain {
  struct Link {
    std::string text; // "CC >= 9.0", "NCCL_NVLS_ENABLE != 0"
    // What decides it: "capability", "driver_and_runtime_cuda" or "nccl", each at least `least`;
    // others are properties of a machine, such as "multicast". Empty: only a test can show it.
    std::string needs;
    VersionNumber least;
    VersionNumber least_cuda; // for "nccl_build": the CUDA that NCCL was built with
  };
  std::string feature;
  std::vector<Link> links;
  std::string note;
  std::vector<std::string> sources;
};
const std::vector<FeatureChain>& feature_chains();

} // namespace ncclprobe::knowledge
