// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/models/model_spec.h"
#include "workload/models/parameter_order.h"

#include <cstdint>
#include <optional>
#include <vector>

// What the passes of a model compute, and which gradients each product of the backward pass
// produces.
namespace ncclprobe::workload {

struct StepProduct {
  Product product;
  std::uint64_t groups = 1; // experts, each with its share of the rows and its own weights
  // The parameter that is the second factor: the one of its size in the layer, or else anywhere in
  // the model (a head that shares the embedding's weights); for experts, their layer's first
  // parameter. Nothing for a product of activations.
  std::optional<ParameterAt> weights;
  std::vector<ParameterAt> ready; // gradients that are ready after its backward pass, in order

  // For one sample. The backward pass multiplies as much for each gradient.
  double forward_flops() const;
  double backward_flops() const { return forward_flops() * (product.input_gradient ? 2 : 1); }
  std::uint64_t weight_elements() const { return product.n * product.k * groups; }
};

struct StepLayer {
  std::vector<StepProduct> products; // in the order of the forward pass
  std::vector<ParameterAt> ready;    // its remaining gradients, at the end of its backward pass
};

struct StepModel {
  ModelSpec spec;
  std::vector<StepLayer> layers; // as in `spec`

  double forward_flops() const;
  double backward_flops() const;
};

// Gradients become ready in arrival_order(): those of a product's weights with it, together with
// all before them.
StepModel make_step_model(ModelSpec spec);

} // namespace ncclprobe::workload
