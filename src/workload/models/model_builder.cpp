// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/model_builder.h"

#include <utility>

namespace ncclprobe::workload {
namespace {

// Autograd returns the weight's gradient of these modules first.
void exchange_last_two(Layer& layer) {
  std::swap(layer.parameters.rbegin()[0], layer.parameters.rbegin()[1]);
}

} // namespace

ModelBuilder::ModelBuilder(std::string name, std::uint64_t sequence) {
  spec_.name = std::move(name);
  spec_.sequence = sequence;
}

void ModelBuilder::begin_block() {
  inside_block_ = true;
}

void ModelBuilder::end_block() {
  inside_block_ = false;
  ++blocks_;
}

Layer ModelBuilder::layer(std::string name, LayerKind kind, std::uint64_t output_elements) const {
  Layer made;
  made.name = std::move(name);
  made.kind = kind;
  made.block = inside_block_ ? blocks_ : -1;
  made.output_elements = output_elements;
  return made;
}

void ModelBuilder::parameter(Layer& layer, std::string name, std::uint64_t elements) {
  layer.parameters.push_back({std::move(name), elements, places_++});
}

void ModelBuilder::linear(Layer& layer, const std::string& module, std::uint64_t rows,
                          std::uint64_t in, std::uint64_t out, Bias bias) {
  parameter(layer, module + ".weight", in * out);
  if (bias == Bias::yes)
    parameter(layer, module + ".bias", out);
  layer.products.push_back({.rows = rows, .n = out, .k = in});
}

void ModelBuilder::convolution(Layer& layer, const std::string& module, std::uint64_t pixels,
                               std::uint64_t in, std::uint64_t out, std::uint64_t kernel,
                               Bias bias) {
  const std::uint64_t depth = in * kernel * kernel;
  parameter(layer, module + ".weight", depth * out);
  if (bias == Bias::yes) {
    parameter(layer, module + ".bias", out);
    exchange_last_two(layer);
  }
  layer.products.push_back({.rows = pixels, .n = out, .k = depth});
}

void ModelBuilder::norm(Layer& layer, const std::string& module, std::uint64_t width) {
  parameter(layer, module + ".weight", width);
  parameter(layer, module + ".bias", width);
  exchange_last_two(layer);
}

ModelSpec ModelBuilder::finish() {
  for (Layer& layer : spec_.layers) {
    if (!layer.products.empty())
      layer.products.front().input_gradient = false; // no earlier layer has parameters
    if (!layer.parameters.empty() || !layer.products.empty())
      break;
  }
  return std::move(spec_);
}

void add_attention(Layer& layer, std::uint64_t tokens, std::uint64_t heads,
                   std::uint64_t head_width) {
  using enum Product::Kind;
  layer.products.push_back(
      {.kind = activations, .rows = tokens, .n = tokens, .k = head_width, .count = heads});
  layer.products.push_back(
      {.kind = activations, .rows = tokens, .n = head_width, .k = tokens, .count = heads});
}

} // namespace ncclprobe::workload
