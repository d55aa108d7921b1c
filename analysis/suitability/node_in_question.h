// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/suitability.h"
#include "analysis/survey/case.h"
#include "model/run.h"

#include <optional>
#include <string>
#include <vector>

// Nodes to be explained, laid beside each other and held against a policy.
namespace ncclprobe::analysis {

// What connecting took of a GPU's memory, at the most, and how many ranks it connected.
struct NcclFootprint {
  double gb = 0; // 1e9 bytes
  int ranks = 0;
};

struct NodeInQuestion {
  std::string name;                // of the host, or what was asked for
  bool is_named = false;           // a GPU by name, without a host around it
  std::vector<GpuInQuestion> gpus; // equal ones once, with their count
  std::optional<knowledge::VersionNumber> driver;
  SoftwareInQuestion software;
  std::optional<NcclFootprint> nccl; // absent: not measured there
};

// Of a GPU by its name; errors as gpu_in_question.
base::Result<NodeInQuestion> named_node(const std::string& gpu);
// Errors: invalid_argument for a GPU without a compute capability, and of no known model.
base::Result<NodeInQuestion> node_of(const model::Host& host);
// The hosts of a stored examination, and of a run. Errors: not_found without any GPU.
base::Result<std::vector<NodeInQuestion>> nodes_of(const doctor::Case& one);
base::Result<std::vector<NodeInQuestion>> nodes_of(const model::Run& run);

// "8 x NVIDIA H200"
std::string gpus_text(const GpuInQuestion& gpu);

} // namespace ncclprobe::analysis
