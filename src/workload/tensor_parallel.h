// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_builder.h"

#include <map>
#include <string>
#include <vector>

// Layers that several ranks compute together, as in Megatron-LM (Shoeybi et al. 2019, figure 3;
// Korthikanti et al. 2022 for sequence parallelism). In attention and MLP, the products before the
// last are split by columns, the last by rows; attention is also split by heads; embedding and head
// by vocabulary. Each rank has the whole of everything else, for example norms and convolutions.
//
// An all_reduce follows each split layer: of its output in the forward pass, of its input's
// gradient in the backward pass; an embedding has only the first, a head only the second. With
// sequence parallelism, an all_gather before the layer and a reduce_scatter after it replace each
// of those for attention and MLP. (Gathered data is kept for the backward pass.) The compute stream
// waits for each.
//
// With A the bytes of a layer's output for all samples, L split attentions and MLPs and K ranks, a
// rank contributes (2 L + 2) A to communication per step, or 2 L (A + A / K) + 2 A with sequence
// parallelism, if there is an embedding and a head. Sums are received in separate memory, so
// every step works on the same data.
namespace ncclprobe::workload {

// Ranks as a grid: `tensor` neighbours that share layers, times replicas of the model.
struct RankGrid {
  int tensor = 1;
  std::vector<std::vector<int>> tensor_groups; // global ranks; each shares a replica
  std::vector<std::vector<int>> data_groups;   // each has the same part of all replicas

  int replicas() const { return static_cast<int>(tensor_groups.size()); }
};
// Errors: unsupported if the ranks do not divide.
Result<RankGrid> make_rank_grid(const model::StepOptions& options, const std::vector<int>& ranks);

// A rank's part of the model. Errors: unsupported if heads or widths do not divide, or experts.
Result<ModelSpec> tensor_parallel_part(const ModelSpec& whole, int tensor);

// Emits the communication of split layers. Does nothing if no layer is split.
class TensorParallel {
public:
  // All arguments must outlive the object.
  TensorParallel(StepBuilder& build, const StepRequest& request, const RankGrid& grid,
                 const ModelSpec& whole);

  // Called around the passes of a layer, for that many samples. They end the compute stream's
  // current stretch.
  void before(std::size_t layer, model::Activity pass, std::uint64_t samples);
  void after(std::size_t layer, model::Activity pass, std::uint64_t samples);

private:
  void exchange(model::Collective what, const std::string& label, std::uint64_t elements);
  struct Places {
    model::Slice send, receive;
  };
  const Places& places(model::Collective what, std::uint64_t elements);

  StepBuilder& build_;
  const StepRequest& request_;
  const RankGrid& grid_;
  const ModelSpec& whole_;
  std::vector<int> groups_;
  int stream_ = -1;
  std::map<std::pair<model::Collective, std::uint64_t>, Places> places_;
};

} // namespace ncclprobe::workload
