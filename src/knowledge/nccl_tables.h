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
