// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/workload_options.h"

#include "launch/cli/common/common_options.h"
#include "launch/cli/common/option_values.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using model::StepCompute;
using model::StepPattern;

constexpr std::string_view k_calibrated = "calibrated:";

Result<StepCompute> read_compute(const std::string& text) {
  StepCompute compute;
  if (text.starts_with(k_calibrated)) {
    compute.kind = StepCompute::Kind::calibrated;
    NCCLPROBE_TRY_ASSIGN(compute.backward_ns, parse_time_ns(text.substr(k_calibrated.size())));
  } else if (text == "none") {
    compute.kind = StepCompute::Kind::none;
  } else if (text != "gemm") {
    return fail(base::Error{Errc::invalid_argument,
                            fmt::format("'{}' is not a way to compute", text),
                            "gemm, none, or calibrated:TIME such as calibrated:12.5ms"});
  }
  return compute;
}

std::string write_compute(const StepCompute& compute) {
  switch (compute.kind) {
  case StepCompute::Kind::gemm:
    return "gemm";
  case StepCompute::Kind::none:
    return "none";
  case StepCompute::Kind::calibrated:
    break;
  }
  return fmt::format("{}{}us", k_calibrated, static_cast<double>(compute.backward_ns) / 1000);
}

// What --workload can be: replays are a command of their own.
Words<StepPattern> pattern_words() {
  auto words = such_that<StepPattern>(
      name_words<StepPattern>("workload"),
      [](const StepPattern& said) { return said != StepPattern::replay; },
      "`ncclprobe replay` replays captured jobs");
  std::erase(words.choices, word(StepPattern::replay));
  words.example = words.choices.back();
  return words;
}

} // namespace

Options workload_options(WorkloadOptions& into) {
  return in_group(
      "Training steps",
      {option("workload", "NAME", into.pattern, pattern_words(),
              "Parallelism of the training steps (makes run and plan measure training steps "
              "instead of collectives): {}"),
       option("model", "NAME|FILE", into.model, text_words("gpt2-124m"),
              "The model to train: a name (`ncclprobe models` lists them; linear:WIDTHxDEPTH is "
              "one too) or your own file (.json, .toml)"),
       option("sequence", "N", into.sequence, number_words<std::uint64_t>(1, k_most),
              "Tokens per sample", {.initial = "the model's"}),
       option("batch", "N,...", into.batches, numbers<std::uint64_t>(1),
              "Samples that each replica of the model processes in a step"),
       option("type", "NAME,...", into.types, float_names<model::StepType>("data type of a step"),
              "Data type of parameters, gradients and GEMMs: {}"),
       option("scaling", "NAME", into.scaling, name_words<model::Scaling>("scaling"),
              "weak: each replica processes --batch samples; strong: all replicas share them"),
       option("compute", "HOW", into.compute,
              Words<StepCompute>{read_compute, write_compute, "calibrated:12.5ms"},
              "gemm: run the model's GEMMs; none: compute nothing; calibrated:TIME: keep the "
              "device busy for this time in the backward pass, and for half of it in the forward "
              "pass"),
       option("optimizer", "on|off", into.optimizer, on_off_words(), "End the step with AdamW"),
       option(
           "accumulate", "N,...", into.accumulate, numbers<int>(1),
           "Gradient-accumulation steps; only the last one reduces gradients, as with no_sync()"),
       option("comm-priority", "N,...", into.priorities, list_of(number_words(0, 5)),
              "Priority of the communication streams, for training steps and for collectives; 5 is "
              "the highest"),
       option("found-inf", "on|off", into.found_inf, on_off_words(),
              "ddp, fsdp: all-reduce one f32 before the optimizer, as FSDP's ShardedGradScaler "
              "does (GradScaler with plain DDP communicates nothing)"),
       option("bucket", "SIZE,...", into.buckets,
              nonzero_size_words("a bucket holds at least a byte"), "Size of a gradient bucket",
              {.initial = "as in PyTorch: 1M, then 25M", .example = "10M,25M", .part = "ddp"}),
       option("bucket-view", "", into.bucket_view, on_off_words(),
              "Store gradients in their buckets (gradient_as_bucket_view)", {.part = "ddp"}),
       option("compress", "NAME,...", into.compression,
              float_names<model::Compression>("compression"), "Reduce gradients as this type: {}",
              {.part = "ddp"}),
       option("reshard", "on|off", into.reshard, on_off_words(),
              "Gather the parameters again for the backward pass (on: ZeRO-3; off: ZeRO-2)",
              {.part = "fsdp"}),
       option("prefetch", "N,...", into.prefetch, numbers<int>(0),
              "Number of blocks to gather in advance", {.part = "fsdp"}),
       option("tensor", "N,...", into.tensor, numbers<int>(1), "Ranks that share each layer",
              {.initial = "all; 2 in ddp+tp, fsdp+tp", .part = "tp"}),
       option("sequence-parallel", "", into.sequence_parallel, on_off_words(),
              "Use reduce_scatter and all_gather instead of all_reduce", {.part = "tp"}),
       option("micro-batches", "N,...", into.micro_batches, numbers<int>(1),
              "Number of micro-batches",
              {.initial = "twice the number of stages", .part = "pipeline"}),
       option("input-copy", "KIND:SIZE,...", into.input_copies,
              list_of(Words<model::InputCopy>{model::parse_input_copy, model::input_copy_text,
                                              "pinned:64M"}),
              "In each step, copy this much input per rank from host memory (pinned:SIZE or "
              "pageable:SIZE), and report how much the copy and communication slow each other "
              "down; the step without a copy is measured too"),
       option("pipeline-order", "NAME", into.order,
              name_words<model::PipelineOrder>("order of a pipeline"), "{}",
              {.part = "pipeline"})});
}

WorkloadOptions default_step() {
  const workload::StepRequest step;
  WorkloadOptions options;
  options.batches = {k_default_batch};
  options.types = {step.type};
  options.scaling = step.scaling;
  options.compute = step.compute;
  options.optimizer = step.optimizer;
  options.accumulate = {step.accumulate};
  options.priorities = {step.priority};
  options.found_inf = step.found_inf;
  options.compression = {step.compression};
  options.reshard = step.reshard;
  options.prefetch = {step.prefetch};
  options.order = step.order;
  return options;
}

Options predicted_step_options(WorkloadOptions& into) {
  Options options = workload_options(into);
  std::erase_if(options, [](const Option& one) {
    return one.name == "compute" || one.name == "optimizer" || one.name == "comm-priority" ||
           one.name == "input-copy";
  });
  return options;
}

} // namespace ncclprobe::cli
