// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/models/models_command.h"

namespace ncclprobe::cli {
Usage models_usage(ModelsOptions& into) {
  return {
      .name = "models",
      .summary = "Show the models for training steps, and their gradient buckets",
      .about = "Orders of buckets: rebuilt (from the second step on), first-step (all gradients at "
               "the end of the first backward pass), registered (every step with "
               "find_unused_parameters). --bucket-cap also applies to the first bucket, as in "
               "PyTorch.",
      .examples = {{"ncclprobe models", "the catalogue"},
                   {"ncclprobe models gpt2-124m", "its layers: parameters, and GEMMs of the "
                                                  "forward pass"},
                   {"ncclprobe models llama3-70b:4", "four of its blocks, with embedding and head"},
                   {"ncclprobe models linear:4096x16", "sixteen Linear(4096, 4096) with bias"},
                   {"ncclprobe models resnet50 --buckets",
                    "which gradients PyTorch's DDP reduces together"},
                   {"ncclprobe models gpt2-124m --buckets --type bf16 --bucket-cap 100M"},
                   {"ncclprobe models bert-base -o net.json", "a model file to edit"},
                   {"ncclprobe models net.json",
                    "your own model; examples/write_model.py writes one"}},
      .options = joined(
          {{option("model", "MODEL", into.model, text_words("gpt2-124m"),
                   "A model of the catalogue, or a file (.json, .toml)", {.positional = true}),
            option("sequence", "N", into.sequence, number_words<std::uint64_t>(1, 1 << 30),
                   "Tokens per sample", {.initial = "the model's", .needs = {"model"}}),
            option("layers", "N", into.blocks, number_words(1, k_most),
                   "Keep only N of the repeated blocks", {.initial = "all", .needs = {"model"}}),
            flag("buckets", into.buckets, "Show the gradient buckets of PyTorch's DDP",
                 {.needs = {"model"}}),
            option("bucket-cap", "SIZE", into.bucket_bytes,
                   such_that<std::uint64_t>(
                       {base::parse_bytes, base::format_bytes, "100M"},
                       [](const auto& bytes) { return bytes > 0; },
                       "a bucket holds at least a byte"),
                   "Maximum bucket size (PyTorch's bucket_cap_mb)",
                   {.initial = "25M, and 1M for the first bucket", .needs = {"buckets"}}),
            option("order", "ORDER", into.order,
                   name_words<workload::BucketOrder>("choice of order"), "Order of the buckets: {}",
                   {.needs = {"buckets"}}),
            option("type", "TYPE", into.type, name_words<model::DataType>("data type"),
                   "Type of the gradients: {}", {.needs = {"buckets"}})},
           result_options(into, {"table", "json", "csv", "markdown", "html"})})};
}

} // namespace ncclprobe::cli
