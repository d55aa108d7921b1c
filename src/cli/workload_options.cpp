// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/workload_options.h"

#include "cli/option_values.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using workload::StepCompute;
using workload::StepPattern;

constexpr int k_most = 1'000'000;
constexpr std::string_view k_calibrated = "calibrated:";

template <typename T>
Words<std::vector<T>> numbers(T least) {
  return list_of(number_words<T>(least, k_most));
}

Result<StepCompute> read_compute(const std::string& text) {
  StepCompute compute;
  if (text.starts_with(k_calibrated)) {
    compute.kind = StepCompute::Kind::calibrated;
    NCCLPROBE_TRY_ASSIGN(compute.backward_ns, parse_time_ns(text.substr(k_calibrated.size())));
  } else if (text == "none") {
    compute.kind = StepCompute::Kind::none;
  } else if (text != "gemm") {
    return fail(base::Error{Errc::invalid_argument, fmt::format("'{}' is no way to compute", text),
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

Words<std::vector<std::uint64_t>> bucket_words() {
  auto sizes = size_words();
  return {[read = sizes.read](const std::string& text) {
            auto buckets = read(text);
            if (buckets && std::find(buckets->begin(), buckets->end(), 0) != buckets->end())
              buckets = fail(Errc::invalid_argument, "'{}': a bucket holds at least a byte", text);
            return buckets;
          },
          sizes.write};
}

std::vector<WorkloadOption> make_options() {
  using W = WorkloadOptions;
  return {
      form("workload", "NAME", &W::pattern, name_words<StepPattern>("workload"),
           "Measure steps of training in place of collectives: ddp, fsdp, tp, pipeline, moe, "
           "ddp+tp, fsdp+tp"),
      form("model", "NAME|FILE", &W::model, text_words(),
           "What is trained: a name (`ncclprobe models` lists them, linear:WIDTHxDEPTH is one too) "
           "or a file of yours (.json, .toml)"),
      form("sequence", "N", &W::sequence, number_words<std::uint64_t>(1, k_most),
           "Tokens of a sample (default: the model's)"),
      form("batch", "N,...", &W::batches, numbers<std::uint64_t>(1),
           "Samples of each replica of the model in a step (default 8)"),
      form("type", "NAME,...", &W::types, float_names<workload::StepType>("data type of a step"),
           "Of parameters, gradients and products: f32 (default), tf32, bf16, f16"),
      form("scaling", "NAME", &W::scaling, name_words<workload::Scaling>("scaling"),
           "weak (default): --batch is that of each replica; strong: all share it"),
      form("ranks", "N,...", &W::rank_counts, numbers<int>(1), nullptr),
      form("placement", "NAME", &W::placement,
           name_words<topology::RankChoice>("placement of ranks"), nullptr),
      form("compute", "HOW", &W::compute, Words<StepCompute>{read_compute, write_compute},
           "gemm (default): the model's products; none; calibrated:TIME: a busy device for a given "
           "time of the backward pass (12.5ms, 800us), and half of it forwards"),
      form("optimizer", "on|off", &W::optimizer, on_off_words(),
           "A step of AdamW at the end (default on)"),
      form("accumulate", "N,...", &W::accumulate, numbers<int>(1),
           "Gradient-accumulation steps; only the last one communicates"),
      form("comm-priority", "N,...", &W::priorities, list_of(number_words(0, 5)),
           "Priority of communication streams, those of collectives too; 5 is the most urgent "
           "there is (default 0)"),
      form("found-inf", "on|off", &W::found_inf, on_off_words(),
           "ddp, fsdp: sum one f32 over the ranks before the optimizer, as ShardedGradScaler does "
           "with FSDP (GradScaler with plain DDP sums nothing; default off)"),
      {form("bucket", "SIZE,...", &W::buckets, bucket_words(),
            "ddp: size of a bucket (default as PyTorch: 1M, then 25M)"),
       StepPattern::ddp},
      {form("bucket-view", "", &W::bucket_view, on_off_words(),
            "ddp: gradients live in their buckets (gradient_as_bucket_view)"),
       StepPattern::ddp},
      {form("compress", "NAME,...", &W::compression,
            float_names<workload::Compression>("compression"),
            "ddp: gradients are reduced as bf16 or f16 (default none)"),
       StepPattern::ddp},
      {form("reshard", "on|off", &W::reshard, on_off_words(),
            "fsdp: parameters are gathered again for the backward pass (default on: ZeRO-3; off: "
            "ZeRO-2)"),
       StepPattern::fsdp},
      {form("prefetch", "N,...", &W::prefetch, numbers<int>(0),
            "fsdp: blocks that are gathered ahead (default 1)"),
       StepPattern::fsdp},
      {form("tensor", "N,...", &W::tensor, numbers<int>(1),
            "tp: ranks that share each layer (default: all; 2 in ddp+tp, fsdp+tp)"),
       StepPattern::tp},
      {form("sequence-parallel", "", &W::sequence_parallel, on_off_words(),
            "tp: reduce_scatter and all_gather in place of all_reduce"),
       StepPattern::tp},
      {form("micro-batches", "N,...", &W::micro_batches, numbers<int>(1),
            "pipeline: parts of a batch (default: twice as many as stages)"),
       StepPattern::pipeline},
      form("input-copy", "KIND:SIZE,...", &W::input_copies,
           list_of(
               Words<workload::InputCopy>{workload::parse_input_copy, workload::input_copy_text}),
           "Copy so much input a rank and step from memory of the host beside it, pinned:SIZE or "
           "pageable:SIZE, and tell what it and communication slow each other down by; the step "
           "without a copy is measured too"),
      {form("pipeline-order", "NAME", &W::order,
            name_words<workload::PipelineOrder>("order of a pipeline"),
            "pipeline: 1f1b (default), gpipe"),
       StepPattern::pipeline},
  };
}

} // namespace

const std::vector<WorkloadOption>& workload_options() {
  static const std::vector<WorkloadOption> all = make_options();
  return all;
}

const WorkloadOption& workload_option(std::string_view name) {
  return *std::find_if(workload_options().begin(), workload_options().end(),
                       [&](const WorkloadOption& one) { return one.name == name; });
}

void declare_workload_options(CLI::App& app, WorkloadOptions& options,
                              const std::set<std::string_view>& without) {
  declare_forms(app, options, workload_options(), "Steps of training", without);
}

} // namespace ncclprobe::cli
