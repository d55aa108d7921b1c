// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_builder.h"

#include <map>

// Experts on different ranks, while each rank has its own samples, as in GShard (Lepikhin et al.
// 2020) and DeepSpeed-MoE: expert parallel = data parallel. Before a layer of experts an all_to_all
// brings each token to the ranks of its experts; after it another one returns the results. The
// backward pass has the same two in the opposite direction. The compute stream waits for each.
// Tokens are assumed to be spread evenly, so every rank computes as many as it has.
//
// With T elements of tokens (samples x tokens x experts per token x width) and e bytes per element,
// a rank contributes 4 T e to communication per micro-step and layer of experts.
namespace ncclprobe::workload {

// A rank's part of the model: its share of the experts. Errors: unsupported for a model without
// experts, or if the ranks do not divide the experts.
Result<ModelSpec> expert_parallel_part(const ModelSpec& whole, int ranks);
// The part that all ranks have: everything but the experts' parameters. On one rank, the whole
// model.
ModelSpec without_experts(const ModelSpec& part, int ranks);

class ExpertParallel {
public:
  // Does nothing unless the pattern is moe. All arguments must outlive the object.
  ExpertParallel(StepBuilder& build, const StepRequest& request, const StepScope& scope,
                 const ModelSpec& part);

  // Called around the passes of a layer. Ends the compute stream's current stretch.
  void exchange(std::size_t layer, const char* what, std::uint64_t samples);

private:
  struct Places {
    model::Slice send, receive;
  };

  StepBuilder& build_;
  const StepRequest& request_;
  const ModelSpec& part_;
  std::uint64_t ranks_;
  std::vector<int> group_;
  int stream_ = -1;
  std::map<std::uint64_t, Places> places_; // by count
};

} // namespace ncclprobe::workload
