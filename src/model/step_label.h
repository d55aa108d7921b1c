// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Training steps: how a model is trained, and which part of a step a cell measures.
namespace ncclprobe::model {

// workload/ddp_step.h and its neighbours describe each pattern. replay: a step of a captured job
// (workload/replay_step.h); its model is the capture, and it has none of the options.
enum class StepPattern { ddp, fsdp, tp, pipeline, moe, ddp_tp, fsdp_tp, replay };
constexpr auto enum_names(StepPattern) {
  using enum StepPattern;
  return std::to_array<std::pair<StepPattern, std::string_view>>({{ddp, "ddp"},
                                                                  {fsdp, "fsdp"},
                                                                  {tp, "tp"},
                                                                  {pipeline, "pipeline"},
                                                                  {moe, "moe"},
                                                                  {ddp_tp, "ddp+tp"},
                                                                  {fsdp_tp, "fsdp+tp"},
                                                                  {replay, "replay"}});
}

// The parts of a pattern: ddp+tp has both; moe reduces gradients as ddp does.
bool has_part(StepPattern pattern, StepPattern part);

// Type of parameters, gradients and products. tf32: f32 whose products round their factors.
enum class StepType { f32, tf32, bf16, f16 };
DataType data_type(StepType type);

// Compression of gradients before the reduction, and back.
enum class Compression { none, bf16, f16 };

// weak: `batch` samples for each replica of the model. strong: `batch` samples for all of them.
enum class Scaling { weak, strong };

enum class PipelineOrder { one_f_one_b, gpipe };
constexpr auto enum_names(PipelineOrder) {
  using enum PipelineOrder;
  return std::to_array<std::pair<PipelineOrder, std::string_view>>(
      {{one_f_one_b, "1f1b"}, {gpipe, "gpipe"}});
}

// gemm: the products of the model. none: no compute, gradients are ready at once. calibrated: each
// product keeps the device busy for a given time.
struct StepCompute {
  enum class Kind { gemm, none, calibrated };
  Kind kind = Kind::gemm;
  std::int64_t backward_ns =
      0; // calibrated: duration of a whole backward pass; the forward pass takes half
  auto operator<=>(const StepCompute&) const = default;
};
NCCLPROBE_DESCRIBE(
    StepCompute,
    NCCLPROBE_COLUMN(kind, "gemm: the model's GEMMs; none: no compute; calibrated: "
                           "compute takes a given time"),
    NCCLPROBE_COLUMN(backward_ns,
                     "calibrated: duration of a backward pass, ns; a forward pass takes half"))

// Bytes that each training rank copies from host memory to its device in every step: the input of
// the next step, as loaders prefetch it. The copy starts with the step, on its own stream, and the
// next step does not start before it has finished.
//
// A copy from pageable memory blocks the calling thread (cudaMemcpyAsync returns when the driver
// has staged the data). As the thread also issues the step, it requests this copy last, when the
// rest of the step is on its way; a copy from pinned memory it requests first.
struct InputCopy {
  std::uint64_t bytes = 0;           // 0: no copy
  Memory from = Memory::pinned_host; // or pageable_host
  auto operator<=>(const InputCopy&) const = default;
};
NCCLPROBE_DESCRIBE(
    InputCopy,
    NCCLPROBE_COLUMN(bytes,
                     "input that each rank copies to its device in each step, bytes; 0: no copy"),
    NCCLPROBE_COLUMN(from, "memory that this input is copied from: pinned_host or pageable_host"))
// "pinned:64MiB", "none".
std::string input_copy_text(const InputCopy& copy);
// Errors: invalid_argument.
base::Result<InputCopy> parse_input_copy(const std::string& text);

// PyTorch's defaults for DistributedDataParallel.
inline constexpr std::uint64_t k_ddp_first_bucket_bytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t k_ddp_bucket_bytes = std::uint64_t{25} << 20;

// How a model is trained, apart from the model, the samples and the ranks.
struct StepOptions {
  StepPattern pattern = StepPattern::ddp;
  StepType type = StepType::f32;
  Scaling scaling = Scaling::weak;
  StepCompute compute;
  bool optimizer = true;
  int accumulate = 1;             // micro-steps; the last one reduces the sum of all gradients
  int priority = 0;               // of communication streams, as in CUDA
  Launch launch = Launch::direct; // graph: the step is captured once and replayed
  Memory memory = Memory::plain;  // of communicated data
  InputCopy input_copy;
  // ddp, fsdp: the communication of GradScaler if ranks have different gradients. ShardedGradScaler
  // of PyTorch's FSDP sums one f32 per device over the ranks, "an infinity was found", after the
  // last gradient, and the optimizer waits for it (torch/distributed/fsdp/sharded_grad_scaler.py).
  // With plain DDP the scaler communicates nothing, because reduced gradients are the same on all
  // ranks. The kernel that unscales gradients is left out, and so is the host's read of the sum.
  bool found_inf = false;

  // ddp
  std::optional<std::uint64_t> bucket_bytes; // bucket_cap_mb; nothing: PyTorch's default
  bool bucket_view = false;                  // gradient_as_bucket_view
  Compression compression = Compression::none;
  // fsdp
  bool reshard = true; // after the forward pass: ZeRO-3; else ZeRO-2
  int prefetch = 1;    // blocks that are prefetched
  // tp, ddp+tp, fsdp+tp
  int tensor = 0;                 // ranks that share a layer; 0: all (tp) or 2 (mixes)
  bool sequence_parallel = false; // reduce_scatter and all_gather instead of all_reduce
  // pipeline
  int micro_batches = 0; // 0: twice as many as stages
  PipelineOrder order = PipelineOrder::one_f_one_b;
  auto operator<=>(const StepOptions&) const = default;

  // Options that the pattern does not have are at their default.
  StepOptions of_pattern() const;
  // The differences from the default in words: "bucket=25MiB", "view".
  std::vector<std::string> words() const;
};
NCCLPROBE_DESCRIBE(
    StepOptions, NCCLPROBE_COLUMN(pattern, "kind of parallelism: ddp, fsdp, tp, pipeline, ..."),
    NCCLPROBE_COLUMN(type, "data type of parameters, gradients and GEMMs"),
    NCCLPROBE_COLUMN(
        scaling, "weak: each replica has a batch of its own; strong: all replicas share one batch"),
    NCCLPROBE_COLUMN(compute, "what stands for the computation"),
    NCCLPROBE_COLUMN(optimizer, "1: the step updates the parameters"),
    NCCLPROBE_COLUMN(accumulate, "number of micro-steps that accumulate gradients; only the last "
                                 "one reduces them; 1: no accumulation"),
    NCCLPROBE_COLUMN(priority,
                     "CUDA priority of communication streams; lower is more urgent; 0: default"),
    NCCLPROBE_COLUMN(launch, "direct, or graph (captured once as a CUDA graph and replayed)"),
    NCCLPROBE_COLUMN(memory, "kind of memory that holds communicated data"),
    NCCLPROBE_COLUMN(input_copy, "input that is copied beside the step"),
    NCCLPROBE_COLUMN(
        found_inf,
        "1: ranks exchange whether a gradient is infinite, as PyTorch's ShardedGradScaler does"),
    NCCLPROBE_COLUMN(bucket_bytes, "ddp: size of a bucket, bytes; absent: PyTorch's default"),
    NCCLPROBE_COLUMN(bucket_view, "ddp: 1 if gradients are stored in the buckets, 0 if copied "
                                  "there (gradient_as_bucket_view)"),
    NCCLPROBE_COLUMN(
        compression,
        "ddp: data type to which gradients are converted for communication; none: not converted"),
    NCCLPROBE_COLUMN(
        reshard,
        "fsdp: 1 if parameters are freed after the forward pass (ZeRO-3), 0 if kept (ZeRO-2)"),
    NCCLPROBE_COLUMN(prefetch,
                     "fsdp: number of blocks whose parameters are gathered ahead of their use"),
    NCCLPROBE_COLUMN(
        tensor,
        "tp: number of ranks that share a layer; 0: all of them (tp), or 2 (ddp+tp, fsdp+tp)"),
    NCCLPROBE_COLUMN(
        sequence_parallel,
        "tp: 1 if reduce_scatter and all_gather replace all_reduce (sequence parallelism)"),
    NCCLPROBE_COLUMN(micro_batches,
                     "pipeline: number of micro-batches in a step; 0: twice the number of stages"),
    NCCLPROBE_COLUMN(order, "pipeline: order of forward and backward passes"))

// compute, communication: the same schedule without the other one. copy: without both, so only
// the input is copied. All four contain an input copy if there is one.
enum class StepParts { all, compute, communication, copy };

// A cell that measures a training step.
struct StepLabel {
  StepOptions options;
  std::string model;
  std::vector<int> ranks; // global ranks that train, ascending; the others do not take part
  StepParts parts = StepParts::all;
  std::uint64_t batch = 1;    // samples of one rank in one step
  std::uint64_t sequence = 0; // tokens of a sample; 0: the model has none
  bool communicates() const;
  bool copies_input() const { return options.input_copy.bytes > 0; }
  auto operator<=>(const StepLabel&) const = default;
};
NCCLPROBE_DESCRIBE(StepLabel, NCCLPROBE_COLUMN(options, "how the model is trained", base::flat),
                   NCCLPROBE_COLUMN(model, "name of the model"),
                   NCCLPROBE_COLUMN(ranks, "global ranks that train"),
                   NCCLPROBE_COLUMN(parts, "all: the whole step; compute: without communication; "
                                           "communication: without compute; copy: "
                                           "without both. Each has the input copy"),
                   NCCLPROBE_COLUMN(batch, "samples of one rank in one step"),
                   NCCLPROBE_COLUMN(sequence,
                                    "number of tokens in a sample; 0: the model has no sequence"))

} // namespace ncclprobe::model
