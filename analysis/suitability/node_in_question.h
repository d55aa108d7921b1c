// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/suitability.h"
#include "analysis/survey/case.h"
#include "model/run.h"

#include <optional>
#include <string>
#include <vector>

// Nodes to explain, to compare with each other, or to check against a policy.
namespace ncclprobe::analysis {

// The largest GPU memory that connecting took, and the number of ranks it connected.
struct NcclFootprint {
  double gb = 0; // 1e9 bytes
  int ranks = 0;
};

struct NodeInQuestion {
  std::string name;                // of the host, or the requested one
  bool is_named = false;           // a GPU by name, without a host
  std::vector<GpuInQuestion> gpus; // equal ones are combined, with their count
  std::optional<knowledge::VersionNumber> driver;
  SoftwareInQuestion software;
  std::optional<NcclFootprint> nccl; // absent: not measured there
};

// For a GPU by its name; errors as gpu_in_question.
base::Result<NodeInQuestion> named_node(const std::string& gpu);
// Errors: invalid_argument for a GPU of unknown model without a compute capability.
base::Result<NodeInQuestion> node_of(const model::HostInventory& host);
// The hosts of a stored examination, or of a run. Errors: not_found if there is no GPU.
base::Result<std::vector<NodeInQuestion>> nodes_of(const doctor::Case& one);
base::Result<std::vector<NodeInQuestion>> nodes_of(const model::Run& run);

// "8 x NVIDIA H200"
std::string gpus_text(const GpuInQuestion& gpu);

} // namespace ncclprobe::analysis
