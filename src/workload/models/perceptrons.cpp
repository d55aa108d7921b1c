// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/families.h"
#include "workload/models/model_builder.h"

#include <fmt/format.h>

namespace ncclprobe::workload {
namespace {

void add_linear(ModelBuilder& builder, const std::string& module, std::uint64_t rows,
                std::uint64_t in, std::uint64_t out) {
  Layer layer = builder.layer(module, LayerKind::mlp, rows * out);
  builder.linear(layer, module, rows, in, out, Bias::yes);
  builder.append(std::move(layer));
}

// A Sequential of Linear and an activation each; the activations count in the names.
void add_perceptron(ModelBuilder& builder, const std::string& module,
                    const std::vector<std::uint64_t>& widths) {
  for (std::size_t i = 0; i + 1 < widths.size(); ++i)
    add_linear(builder, fmt::format("{}.{}", module, 2 * i), 1, widths[i], widths[i + 1]);
}

} // namespace

ModelSpec make_dlrm(const std::string& name) {
  constexpr std::uint64_t k_dense_features = 13;
  constexpr std::uint64_t k_tables = 26;
  constexpr std::uint64_t k_width = 128;
  constexpr std::uint64_t k_vectors = k_tables + 1; // the dense features are one of them

  ModelBuilder builder(name, 0);
  add_perceptron(builder, "bot_l", {k_dense_features, 512, 256, k_width});
  // Its tables are spread over the ranks; all_to_all delivers their gradients.
  builder.append(builder.layer("emb_l", LayerKind::embedding, k_tables * k_width));
  const std::uint64_t pairs = k_vectors * (k_vectors - 1) / 2;
  Layer interaction = builder.layer("interact", LayerKind::other, pairs + k_width);
  interaction.products.push_back(
      {.kind = Product::Kind::activations, .rows = k_vectors, .n = k_vectors, .k = k_width});
  builder.append(std::move(interaction));
  add_perceptron(builder, "top_l", {pairs + k_width, 1024, 1024, 512, 256, 1});
  ModelSpec spec = builder.finish();
  spec.layers.back().kind = LayerKind::head;
  return spec;
}

ModelSpec make_linear_stack(const std::string& name, std::uint64_t width, int depth,
                            std::uint64_t sequence) {
  ModelBuilder builder(name, sequence);
  for (int i = 0; i < depth; ++i) {
    builder.begin_block();
    add_linear(builder, std::to_string(i), sequence > 0 ? sequence : 1, width, width);
    builder.end_block();
  }
  return builder.finish();
}

} // namespace ncclprobe::workload
