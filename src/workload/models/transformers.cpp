// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/families.h"
#include "workload/models/model_builder.h"

#include <fmt/format.h>

namespace ncclprobe::workload {
namespace {

// nn.LayerNorm as a separate layer.
void add_norm(ModelBuilder& builder, const std::string& module, const TextSize& size) {
  Layer norm = builder.layer(module, LayerKind::other, size.sequence * size.width);
  builder.norm(norm, module, size.width);
  builder.append(std::move(norm));
}

} // namespace

ModelSpec make_bert(const std::string& name, const TextSize& size) {
  constexpr std::uint64_t k_words = 30522;
  constexpr std::uint64_t k_positions = 512;
  constexpr std::uint64_t k_token_types = 2;
  const std::uint64_t tokens = size.sequence;
  const std::uint64_t width = size.width;
  const std::uint64_t stream = tokens * width;

  ModelBuilder builder(name, tokens);
  Layer embedding = builder.layer("embeddings", LayerKind::embedding, stream);
  builder.parameter(embedding, "embeddings.word_embeddings.weight", k_words * width);
  builder.parameter(embedding, "embeddings.position_embeddings.weight", k_positions * width);
  builder.parameter(embedding, "embeddings.token_type_embeddings.weight", k_token_types * width);
  // Positions are looked up last.
  std::swap(embedding.parameters[1], embedding.parameters[2]);
  builder.append(std::move(embedding));
  add_norm(builder, "embeddings.LayerNorm", size);

  for (int block = 0; block < size.blocks; ++block) {
    const std::string at = fmt::format("encoder.layer.{}", block);
    builder.begin_block();
    Layer attention = builder.layer(at + ".attention", LayerKind::attention, stream);
    for (const char* part : {".self.query", ".self.key", ".self.value"})
      builder.linear(attention, attention.name + part, tokens, width, width, Bias::yes);
    add_attention(attention, tokens, size.heads, width / size.heads);
    builder.linear(attention, attention.name + ".output.dense", tokens, width, width, Bias::yes);
    builder.append(std::move(attention));
    add_norm(builder, at + ".attention.output.LayerNorm", size);
    Layer mlp = builder.layer(at + ".intermediate", LayerKind::mlp, stream);
    builder.linear(mlp, at + ".intermediate.dense", tokens, width, 4 * width, Bias::yes);
    builder.linear(mlp, at + ".output.dense", tokens, 4 * width, width, Bias::yes);
    builder.append(std::move(mlp));
    add_norm(builder, at + ".output.LayerNorm", size);
    builder.end_block();
  }
  Layer pooler = builder.layer("pooler", LayerKind::head, width);
  builder.linear(pooler, "pooler.dense", 1, width, width, Bias::yes); // of the first token
  builder.append(std::move(pooler));
  return builder.finish();
}

ModelSpec make_gpt2(const std::string& name, const TextSize& size) {
  constexpr std::uint64_t k_words = 50257;
  constexpr std::uint64_t k_positions = 1024;
  const std::uint64_t tokens = size.sequence;
  const std::uint64_t width = size.width;
  const std::uint64_t stream = tokens * width;

  ModelBuilder builder(name, tokens);
  Layer embedding = builder.layer("transformer.wte", LayerKind::embedding, stream);
  builder.parameter(embedding, "transformer.wte.weight", k_words * width);
  builder.parameter(embedding, "transformer.wpe.weight", k_positions * width);
  builder.append(std::move(embedding));

  for (int block = 0; block < size.blocks; ++block) {
    const std::string at = fmt::format("transformer.h.{}", block);
    builder.begin_block();
    add_norm(builder, at + ".ln_1", size);
    Layer attention = builder.layer(at + ".attn", LayerKind::attention, stream);
    builder.linear(attention, attention.name + ".c_attn", tokens, width, 3 * width, Bias::yes);
    add_attention(attention, tokens, size.heads, width / size.heads);
    builder.linear(attention, attention.name + ".c_proj", tokens, width, width, Bias::yes);
    builder.append(std::move(attention));
    add_norm(builder, at + ".ln_2", size);
    Layer mlp = builder.layer(at + ".mlp", LayerKind::mlp, stream);
    builder.linear(mlp, mlp.name + ".c_fc", tokens, width, 4 * width, Bias::yes);
    builder.linear(mlp, mlp.name + ".c_proj", tokens, 4 * width, width, Bias::yes);
    builder.append(std::move(mlp));
    builder.end_block();
  }
  add_norm(builder, "transformer.ln_f", size);
  // It shares the word embedding's weights, whose gradient is complete only after the embedding.
  Layer head = builder.layer("lm_head", LayerKind::head, tokens * k_words);
  head.products.push_back({.rows = tokens, .n = k_words, .k = width});
  builder.append(std::move(head));
  return builder.finish();
}

} // namespace ncclprobe::workload
