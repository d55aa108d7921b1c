// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/models/model_spec.h"

#include <string>

// The architectures of the catalogue, each with its sizes. `name` becomes the name of the
// ModelSpec.
namespace ncclprobe::workload {

// torchvision's resnet50 on images of 224 x 224 pixels.
ModelSpec make_resnet50(const std::string& name);

// torchvision's VisionTransformer with patches of 16 x 16 on images of 224 x 224 pixels.
struct VitSize {
  std::uint64_t width = 0;
  std::uint64_t heads = 0;
  int blocks = 0;
};
ModelSpec make_vit(const std::string& name, const VitSize& size);

// A model of text: tokens of a sample, width of a token, and so on.
struct TextSize {
  std::uint64_t sequence = 0;
  std::uint64_t width = 0;
  std::uint64_t heads = 0;
  int blocks = 0;
};
// BertModel, with its pooler and without a head.
ModelSpec make_bert(const std::string& name, const TextSize& size);
// GPT2LMHeadModel; the head shares the weights of the embedding.
ModelSpec make_gpt2(const std::string& name, const TextSize& size);

// LlamaForCausalLM, or MixtralForCausalLM if there are experts.
struct LlamaSize {
  std::uint64_t sequence = 0;
  std::uint64_t width = 0;
  std::uint64_t inner_width = 0;
  std::uint64_t heads = 0;
  std::uint64_t key_heads = 0;
  std::uint64_t words = 0;
  int blocks = 0;
  int experts = 0;
  int experts_per_token = 0;
};
ModelSpec make_llama(const std::string& name, const LlamaSize& size);

// The dense part of MLPerf's DLRM on Criteo Terabyte (Training 0.7 to 2.1).
ModelSpec make_dlrm(const std::string& name);

// `depth` Linear(width, width) with bias, on `rows` rows per sample.
ModelSpec make_linear_stack(const std::string& name, std::uint64_t width, int depth,
                            std::uint64_t sequence);

} // namespace ncclprobe::workload
