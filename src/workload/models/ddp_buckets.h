// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/enum_names.h"
#include "model/step_label.h"
#include "workload/models/model_spec.h"
#include "workload/models/parameter_order.h"

#include <array>
#include <optional>
#include <vector>

// The gradients that PyTorch's DistributedDataParallel reduces together. Follows PyTorch 2.11
// (torch/nn/parallel/distributed.py, c10d/reducer.cpp); tests/workload/models/torch_comparison.py
// compares it with PyTorch.
namespace ncclprobe::workload {

// rebuilt: every step but the first, in the order of arrival of the gradients. Training for hours
//   uses this order.
// first_step: the first step, which has no known order: everything at once, when all gradients are
//   ready.
// registered: every step of a model with find_unused_parameters (and the first step of early
//   PyTorch): filled in the order of registration, sent in reverse.
enum class BucketOrder { rebuilt, first_step, registered };
constexpr auto enum_names(BucketOrder) {
  using enum BucketOrder;
  return std::to_array<std::pair<BucketOrder, std::string_view>>(
      {{rebuilt, "rebuilt"}, {first_step, "first-step"}, {registered, "registered"}});
}

struct DdpOptions {
  std::uint64_t first_bucket_bytes = model::k_ddp_first_bucket_bytes;
  std::uint64_t bucket_bytes = model::k_ddp_bucket_bytes;
  model::DataType type = model::DataType::f32; // of parameters, and so of their gradients
  BucketOrder order = BucketOrder::rebuilt;
};

// The limits that bucket_cap_mb implies. If the user sets it, it also holds for the first bucket;
// by default the first bucket is smaller. (In older PyTorch the first was always 1 MiB.)
DdpOptions ddp_options(std::optional<std::uint64_t> bucket_cap_bytes);

// A bucket is one flat array of the gradients of `parameters`, in this order. With
// gradient_as_bucket_view the model's gradients live in it: the backward pass writes there.
// Without, the backward pass writes separate gradients. Each is copied into the bucket when it
// arrives (the copy also divides by the number of ranks, at no extra cost) and back after the
// reduction; the buckets are the same.
struct DdpBucket {
  std::vector<ParameterAt> parameters;
  std::uint64_t elements = 0;
  // This layer's backward pass completes the bucket.
  std::size_t completed_by_layer = 0;
  bool operator==(const DdpBucket&) const = default;
};

// In the order in which they are reduced.
std::vector<DdpBucket> ddp_buckets(const ModelSpec& spec, const DdpOptions& options);

// Same as PyTorch's _compute_bucket_assignment_by_size. A bucket takes items of one key. The item
// that reaches the limit closes it, even if it exceeds the limit. The next bucket of that key has
// the next limit; the last limit holds for all others.
struct BucketItem {
  std::uint64_t bytes = 0;
  int key = 0; // stands for data type and device
};
// Buckets of indices of `items`, in the order of closing, followed by those left open. Needs at
// least one limit.
std::vector<std::vector<std::size_t>> fill_buckets(const std::vector<BucketItem>& items,
                                                   const std::vector<std::uint64_t>& limits);
// The same, sorted by each bucket's smallest index, as PyTorch does without a given order.
std::vector<std::vector<std::size_t>> fill_buckets_sorted(const std::vector<BucketItem>& items,
                                                          const std::vector<std::uint64_t>& limits);

} // namespace ncclprobe::workload
