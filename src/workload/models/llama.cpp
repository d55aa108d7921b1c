// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/families.h"
#include "workload/models/model_builder.h"

#include <fmt/format.h>

#include <utility>

namespace ncclprobe::workload {
namespace {

std::uint64_t stream_elements(const LlamaSize& size) {
  return size.sequence * size.width;
}

// A norm without bias.
Layer make_norm(ModelBuilder& builder, const std::string& module, const LlamaSize& size) {
  Layer norm = builder.layer(module, LayerKind::other, stream_elements(size));
  builder.parameter(norm, module + ".weight", size.width);
  return norm;
}

Layer make_attention(ModelBuilder& builder, const std::string& module, const LlamaSize& size) {
  const std::uint64_t head_width = size.width / size.heads;
  const std::uint64_t key_width = head_width * size.key_heads;
  Layer layer = builder.layer(module, LayerKind::attention, stream_elements(size));
  builder.linear(layer, module + ".q_proj", size.sequence, size.width, size.width, Bias::no);
  builder.linear(layer, module + ".k_proj", size.sequence, size.width, key_width, Bias::no);
  builder.linear(layer, module + ".v_proj", size.sequence, size.width, key_width, Bias::no);
  add_attention(layer, size.sequence, size.heads, head_width);
  builder.linear(layer, module + ".o_proj", size.sequence, size.width, size.width, Bias::no);
  return layer;
}

Layer make_mlp(ModelBuilder& builder, const std::string& module, const LlamaSize& size) {
  const std::uint64_t tokens = size.sequence;
  Layer layer = builder.layer(module, LayerKind::mlp, stream_elements(size));
  builder.linear(layer, module + ".gate_proj", tokens, size.width, size.inner_width, Bias::no);
  builder.linear(layer, module + ".up_proj", tokens, size.width, size.inner_width, Bias::no);
  builder.linear(layer, module + ".down_proj", tokens, size.inner_width, size.width, Bias::no);
  return layer;
}

Layer make_router(ModelBuilder& builder, const std::string& module, const LlamaSize& size) {
  const auto experts = static_cast<std::uint64_t>(size.experts);
  Layer layer = builder.layer(module + ".gate", LayerKind::other, size.sequence * experts);
  builder.linear(layer, layer.name, size.sequence, size.width, experts, Bias::no);
  return layer;
}

Layer make_experts(ModelBuilder& builder, const std::string& module, const LlamaSize& size) {
  const std::uint64_t weights = size.width * size.inner_width;
  Layer layer = builder.layer(module + ".experts", LayerKind::experts, stream_elements(size));
  layer.experts = size.experts;
  layer.experts_per_token = size.experts_per_token;
  for (int expert = 0; expert < size.experts; ++expert) {
    for (const char* part : {"w1", "w2", "w3"})
      builder.parameter(layer, fmt::format("{}.{}.{}.weight", layer.name, expert, part), weights);
    // w2 takes the product of the results of w1 and w3.
    std::swap(layer.parameters.rbegin()[0], layer.parameters.rbegin()[1]);
  }
  const std::uint64_t rows = size.sequence * static_cast<std::uint64_t>(size.experts_per_token);
  layer.products.push_back({.rows = rows, .n = size.inner_width, .k = size.width});
  layer.products.push_back({.rows = rows, .n = size.inner_width, .k = size.width});
  layer.products.push_back({.rows = rows, .n = size.width, .k = size.inner_width});
  return layer;
}

} // namespace

ModelSpec make_llama(const std::string& name, const LlamaSize& size) {
  ModelBuilder builder(name, size.sequence);
  Layer embedding =
      builder.layer("model.embed_tokens", LayerKind::embedding, stream_elements(size));
  builder.parameter(embedding, embedding.name + ".weight", size.words * size.width);
  builder.append(std::move(embedding));

  for (int block = 0; block < size.blocks; ++block) {
    const std::string at = fmt::format("model.layers.{}", block);
    builder.begin_block();
    // Registered in this order, but used in append()'s order: the norms come last here.
    Layer attention = make_attention(builder, at + ".self_attn", size);
    std::vector<Layer> inner;
    if (size.experts > 0) {
      const std::string moe = at + ".block_sparse_moe";
      inner.push_back(make_router(builder, moe, size));
      inner.push_back(make_experts(builder, moe, size));
    } else {
      inner.push_back(make_mlp(builder, at + ".mlp", size));
    }
    Layer before_attention = make_norm(builder, at + ".input_layernorm", size);
    Layer before_inner = make_norm(builder, at + ".post_attention_layernorm", size);
    builder.append(std::move(before_attention));
    builder.append(std::move(attention));
    builder.append(std::move(before_inner));
    for (Layer& layer : inner)
      builder.append(std::move(layer));
    builder.end_block();
  }
  builder.append(make_norm(builder, "model.norm", size));
  Layer head = builder.layer("lm_head", LayerKind::head, size.sequence * size.words);
  builder.linear(head, "lm_head", size.sequence, size.width, size.words, Bias::no);
  builder.append(std::move(head));
  return builder.finish();
}

} // namespace ncclprobe::workload
