// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/enum_names.h"

#include <cstdint>
#include <string>
#include <vector>

// A model as its training sees it: parameters to synchronise and products to compute. Made for one
// length of sequence; everything "per sample" is of one sample of that length.
namespace ncclprobe::workload {

struct Parameter {
  std::string name; // PyTorch's, "transformer.h.0.attn.c_attn.weight"
  std::uint64_t elements = 0;
  std::uint64_t place = 0; // in PyTorch's named_parameters(), from 0
  bool operator==(const Parameter&) const = default;
};

// A product of the forward pass: (batch x rows) by k, times k by n. weights: the second factor is a
// parameter, and the backward pass makes gradients by both factors. activations: both come from the
// sample (attention), `count` of them each sample; again both have gradients.
struct Product {
  enum class Kind { weights, activations };
  Kind kind = Kind::weights;
  std::uint64_t rows = 0; // per sample: tokens, pixels of a convolution's output
  std::uint64_t n = 0;
  std::uint64_t k = 0;     // for a convolution input channels x kernel
  std::uint64_t count = 1; // of activations: heads
  // false: what it multiplies is the model's input, of which nobody wants the gradient.
  bool input_gradient = true;
  bool operator==(const Product&) const = default;
};
constexpr auto enum_names(Product::Kind) {
  using enum Product::Kind;
  return std::to_array<std::pair<Product::Kind, std::string_view>>(
      {{weights, "weights"}, {activations, "activations"}});
}

// What the forms of parallelism cut at.
enum class LayerKind { embedding, convolution, attention, mlp, experts, head, other };
constexpr auto enum_names(LayerKind) {
  using enum LayerKind;
  return std::to_array<std::pair<LayerKind, std::string_view>>({{embedding, "embedding"},
                                                                {convolution, "convolution"},
                                                                {attention, "attention"},
                                                                {mlp, "mlp"},
                                                                {experts, "experts"},
                                                                {head, "head"},
                                                                {other, "other"}});
}

struct Layer {
  std::string name;
  LayerKind kind = LayerKind::other;
  int block = -1; // repeated block it belongs to (what FSDP wraps); -1: none
  // In the order in which the forward pass uses them: the backward pass has their gradients ready
  // in just the reverse of it (parameter_order.h). Weights that two layers share stand in the
  // first.
  std::vector<Parameter> parameters;
  std::vector<Product> products;     // in the order in which the forward pass computes them
  std::uint64_t output_elements = 0; // per sample: what the next layer gets
  // experts only: how many there are, and how many each token is sent to. The products are those
  // of all tokens, each at its experts.
  int experts = 0;
  int experts_per_token = 0;
  bool operator==(const Layer&) const = default;
};

struct ModelSpec {
  std::string name;
  std::uint64_t sequence = 0; // tokens a sample; 0: the model has none
  std::vector<Layer> layers;  // in the order of the forward pass
  bool operator==(const ModelSpec&) const = default;

  std::uint64_t parameter_count() const {
    std::uint64_t sum = 0;
    for (const Layer& layer : layers)
      for (const Parameter& one : layer.parameters)
        sum += one.elements;
    return sum;
  }
  // Of the products of a sample's forward pass: two for each multiplication.
  std::uint64_t forward_flops() const {
    std::uint64_t sum = 0;
    for (const Layer& layer : layers)
      for (const Product& one : layer.products)
        sum += 2 * one.rows * one.n * one.k * one.count;
    return sum;
  }
};

} // namespace ncclprobe::workload
