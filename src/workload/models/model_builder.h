// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/models/model_spec.h"

#include <string>

namespace ncclprobe::workload {

enum class Bias { no, yes };

// Builds a ModelSpec from modules as PyTorch knows them. Parameters are numbered in the order of
// these calls, which must be the order of registration; layers are stored in the order of append().
// A module's parameters are kept in the order that arrival_order() needs.
class ModelBuilder {
public:
  ModelBuilder(std::string name, std::uint64_t sequence);

  // Blocks are numbered from 0; layers outside a block belong to none.
  void begin_block();
  void end_block();

  Layer layer(std::string name, LayerKind kind, std::uint64_t output_elements) const;
  void append(Layer layer) { spec_.layers.push_back(std::move(layer)); }

  void parameter(Layer& layer, std::string name, std::uint64_t elements);
  // nn.Linear, applied to `rows` rows per sample.
  void linear(Layer& layer, const std::string& module, std::uint64_t rows, std::uint64_t in,
              std::uint64_t out, Bias bias);
  // nn.Conv2d as the product of its output's pixels and its kernel.
  void convolution(Layer& layer, const std::string& module, std::uint64_t pixels, std::uint64_t in,
                   std::uint64_t out, std::uint64_t kernel, Bias bias);
  // nn.BatchNorm2d, nn.LayerNorm: a weight and a bias.
  void norm(Layer& layer, const std::string& module, std::uint64_t width);

  ModelSpec finish();

private:
  ModelSpec spec_;
  int blocks_ = 0;
  bool inside_block_ = false;
  std::uint64_t places_ = 0;
};

// Scores and weighted sum of attention over all tokens, masked or not.
void add_attention(Layer& layer, std::uint64_t tokens, std::uint64_t heads,
                   std::uint64_t head_width);

} // namespace ncclprobe::workload
