// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/trial.h"
#include "workload/collective_benchmark.h"
#include "workload/models/model_spec.h"
#include "workload/step_label.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What is trained, and how: everything that defines a step apart from its ranks.
namespace ncclprobe::workload {

// ddp_step.h and its neighbours describe each pattern.
enum class StepPattern { ddp, fsdp, tp, pipeline, moe, ddp_tp, fsdp_tp };
constexpr auto enum_names(StepPattern) {
  using enum StepPattern;
  return std::to_array<std::pair<StepPattern, std::string_view>>({{ddp, "ddp"},
                                                                  {fsdp, "fsdp"},
                                                                  {tp, "tp"},
                                                                  {pipeline, "pipeline"},
                                                                  {moe, "moe"},
                                                                  {ddp_tp, "ddp+tp"},
                                                                  {fsdp_tp, "fsdp+tp"}});
}

// The parts of a pattern: ddp+tp has both; moe reduces gradients as ddp does.
bool has_part(StepPattern pattern, StepPattern part);

// Type of parameters, gradients and products. tf32: f32 whose products round their factors.
enum class StepType { f32, tf32, bf16, f16 };
constexpr auto enum_names(StepType) {
  using enum StepType;
  return std::to_array<std::pair<StepType, std::string_view>>(
      {{f32, "f32"}, {tf32, "tf32"}, {bf16, "bf16"}, {f16, "f16"}});
}
model::DataType data_type(StepType type);

// Compression of gradients before the reduction, and back.
enum class Compression { none, bf16, f16 };
constexpr auto enum_names(Compression) {
  using enum Compression;
  return std::to_array<std::pair<Compression, std::string_view>>(
      {{none, "none"}, {bf16, "bf16"}, {f16, "f16"}});
}

// weak: `batch` samples for each replica of the model. strong: `batch` samples for all of them.
enum class Scaling { weak, strong };
constexpr auto enum_names(Scaling) {
  using enum Scaling;
  return std::to_array<std::pair<Scaling, std::string_view>>({{weak, "weak"}, {strong, "strong"}});
}

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
  bool operator==(const StepCompute&) const = default;
};

// Bytes that each training rank copies from host memory to its device in every step: the input of
// the next step, as loaders prefetch it. The copy starts with the step, on its own stream, and the
// next step does not start before it has finished.
//
// A copy from pageable memory blocks the calling thread (cudaMemcpyAsync returns when the driver
// has staged the data). As the thread also issues the step, it requests this copy last, when the
// rest of the step is on its way; a copy from pinned memory it requests first.
struct InputCopy {
  std::uint64_t bytes = 0;                         // 0: no copy
  model::Memory from = model::Memory::pinned_host; // or pageable_host
  bool operator==(const InputCopy&) const = default;
};
// "pinned:64MiB", "none".
std::string input_copy_text(const InputCopy& copy);
// Errors: invalid_argument.
base::Result<InputCopy> parse_input_copy(const std::string& text);

struct StepRequest {
  StepPattern pattern = StepPattern::ddp;
  ModelSpec model;
  StepType type = StepType::f32;
  std::uint64_t batch = 1;
  Scaling scaling = Scaling::weak;
  StepCompute compute;
  bool optimizer = true;
  int accumulate = 1;             // micro-steps; the last one reduces the sum of all gradients
  int priority = 0;               // of communication streams, as in CUDA
  Launch launch = Launch::direct; // graph: the step is captured once and replayed
  model::Memory memory = model::Memory::plain; // of communicated data
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
  bool operator==(const StepRequest&) const = default;
};

// Which of a trial's ranks train, and which parts of the step run.
struct StepScope {
  int world = 1;          // ranks of the trial
  std::vector<int> ranks; // global, in the order of the communicator
  StepParts parts = StepParts::all;

  int size() const { return static_cast<int>(ranks.size()); }
  bool computes() const { return parts == StepParts::all || parts == StepParts::compute; }
  bool communicates() const {
    return (parts == StepParts::all || parts == StepParts::communication) && size() > 1;
  }
};

// A step's differences from the default, as words of its label: "bucket=25MiB", "view".
std::vector<std::string> option_words(const StepRequest& request);

} // namespace ncclprobe::workload
