// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/procure/node_type.h"
#include "base/error.h"
#include "workload/step_request.h"

#include <optional>

// Whether a step fits into the memory of a GPU.
namespace ncclprobe::analysis::procure {

// What the fullest GPU holds at least, bytes. With P parameters on it, of s bytes each: weights
// P s, gradients P s, and AdamW's two moments of f32, 8 P (model::OptimizerOp; Rajbhandari et al.,
// "ZeRO", arXiv:1910.02054, section 3.1, whose mixed precision adds a copy of the weights in f32,
// 4 P). fsdp keeps 1/n of these, and gathers the weights of the root and of its largest block
// (ZeRO-2: all weights). tp divides layers as its schedule does, moe its experts, pipeline evenly.
// Activations: the outputs of all layers for one batch, which the backward pass reads unless it
// computes them again. What a layer keeps within is unknown, and so is the workspace of libraries.
struct MemoryNeed {
  double weights = 0, gradients = 0, optimizer = 0;
  std::optional<double> activations; // ddp, fsdp and moe

  double states() const { return weights + gradients + optimizer; }
  double total() const { return states() + activations.value_or(0); } // as far as known
};
// Errors: unsupported if the ranks or the layers do not divide.
base::Result<MemoryNeed> memory_need(const workload::StepRequest& request, int ranks);

// Of one GPU, bytes: as the driver reports it. Else as published, with GB taken as GiB: drivers
// report that or less. Nothing if it is unknown.
std::optional<double> gpu_memory_bytes(const GpuInQuestion& gpu);

inline constexpr double k_gib = 1 << 30; // data sheets call it GB

enum class Fits {
  no,             // weights, gradients and optimizer state alone exceed the memory
  with_recompute, // they fit, but not with the known activations
  possible,       // nothing that is known speaks against it
  unknown,
};
Fits fits(const std::optional<MemoryNeed>& need, const std::optional<double>& memory_bytes);

} // namespace ncclprobe::analysis::procure
