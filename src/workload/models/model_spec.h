// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/enum_names.h"

#include <cstdint>
#include <string>
#include <vector>

// A model as its training sees it: parameters to synchronise and products to compute. Built for one
// sequence length; "per sample" means one sample of that length.
namespace ncclprobe::workload {

struct Parameter {
  std::string name; // PyTorch's, "transformer.h.0.attn.c_attn.weight"
  std::uint64_t elements = 0;
  std::uint64_t place = 0; // in PyTorch's named_parameters(), from 0
  bool operator==(const Parameter&) const = default;
};

// A product of the forward pass: (batch x rows) by k, times k by n. weights: the second factor is a
// parameter. activations: both factors come from the sample (attention), `count` products per
// sample. In both cases the backward pass computes gradients of both factors.
struct Product {
  enum class Kind { weights, activations };
  Kind kind = Kind::weights;
  std::uint64_t rows = 0; // per sample: tokens, pixels of a convolution's output
  std::uint64_t n = 0;
  std::uint64_t k = 0;     // for a convolution input channels x kernel
  std::uint64_t count = 1; // of activations: heads
  // false: its input is the model's input, which needs no gradient.
  bool input_gradient = true;
  bool operator==(const Product&) const = default;
};

// Kinds of layers, which decide how forms of parallelism split them.
enum class LayerKind { embedding, convolution, attention, mlp, experts, head, other };

struct Layer {
  std::string name;
  LayerKind kind = LayerKind::other;
  int block = -1; // repeated block it belongs to (what FSDP wraps); -1: none
  // In the order in which the forward pass uses them. The backward pass produces their gradients in
  // exactly the reverse order (parameter_order.h). Weights that two layers share belong to the
  // first.
  std::vector<Parameter> parameters;
  std::vector<Product> products;     // in the order in which the forward pass computes them
  std::uint64_t output_elements = 0; // per sample: input of the next layer
  // experts only: how many there are, and how many process each token. The products are those of
  // all tokens, each at its experts.
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
  // For the products of a sample's forward pass: two per multiplication.
  std::uint64_t forward_flops() const {
    std::uint64_t sum = 0;
    for (const Layer& layer : layers)
      for (const Product& one : layer.products)
        sum += 2 * one.rows * one.n * one.k * one.count;
    return sum;
  }
};

} // namespace ncclprobe::workload
