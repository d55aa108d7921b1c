// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compute_capability.h"
#include "knowledge/version_number.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::knowledge {

// What NCCL's makefile compiles for, by the CUDA it is built with. Distributors may narrow it.
struct NcclDefaultBuild {
  std::string built_with; // "CUDA 12.8 - 12.9"
  std::vector<CodeTarget> cubins;
  std::vector<CodeTarget> ptx;
};
const std::vector<NcclDefaultBuild>& nccl_default_builds();

// Releases with a fault that their notes or their successor's name.
struct KnownBadNccl {
  std::optional<VersionNumber> from; // absent: all before
  VersionNumber until;
  ComputeCapability capability_from;
  bool needs_nvlink = false; // it shows between GPUs with NVLink only
  bool arm_host = false;     // it shows with Arm CPUs only
  std::string when;          // "ring all-reduce of 2 GPUs with LL128"
  std::string what;          // "can hang"
  std::string way_out;       // "NCCL 2.15.5, or NCCL_PROTO=^LL128"
  std::vector<std::string> sources;

  bool concerns(const VersionNumber& nccl) const;
  std::string text() const; // "2.14.3 and older ..." in one sentence
};
const std::vector<KnownBadNccl>& known_bad_nccl();

// A feature that works only if every link of its chain is there.
struct FeatureChain {
  struct Link {
    std::string text; // "CC >= 9.0", "NCCL_NVLS_ENABLE != 0"
    // What answers it: "capability", "driver_and_runtime_cuda" or "nccl", each of `least`; others
    // are asked of a machine, such as "multicast". Empty: only a try tells.
    std::string needs;
    VersionNumber least;
    VersionNumber least_cuda; // of "nccl_build": the CUDA that NCCL was built with
  };
  std::string feature;
  std::vector<Link> links;
  std::string note;
  std::vector<std::string> sources;
};
const std::vector<FeatureChain>& feature_chains();

} // namespace ncclprobe::knowledge
