// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_builder.h"

#include <map>

// Experts that live on different ranks while each rank has samples of its own, as in GShard
// (Lepikhin et al. 2020) and DeepSpeed-MoE: expert parallel = data parallel. In front of a layer of
// experts an all_to_all brings each token to the ranks of its experts, behind it another one brings
// the results back; the backward pass has the same two the other way. The compute stream waits for
// each. Tokens are taken to be spread evenly, so that every rank computes as many as it has.
//
// With T elements of tokens (samples x tokens x experts a token x width) and e bytes an element, a
// rank gives 4 T e to communication in a micro-step for each layer of experts.
namespace ncclprobe::workload {

// A rank's part of the model: its share of the experts. Errors: unsupported for a model without
// experts, or experts that the ranks do not divide.
base::Result<ModelSpec> expert_parallel_part(const ModelSpec& whole, int ranks);
// A part without its experts' parameters: what all ranks have. On one rank that is everything.
ModelSpec without_experts(const ModelSpec& part, int ranks);

class ExpertParallel {
public:
  // Does nothing unless the pattern is moe. All arguments outlive the object.
  ExpertParallel(StepBuilder& build, const StepRequest& request, const StepScope& scope,
                 const ModelSpec& part);

  // Around the passes of a layer. It leaves the compute stream's stretch.
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
