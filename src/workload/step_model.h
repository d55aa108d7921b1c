// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/models/model_spec.h"
#include "workload/models/parameter_order.h"

#include <cstdint>
#include <optional>
#include <vector>

// What the passes of a model compute, and which gradients each product of the backward pass leaves.
namespace ncclprobe::workload {

struct StepProduct {
  Product product;
  std::uint64_t groups = 1; // experts, each with a share of the rows and weights of its own
  // Where the second factor lies: the parameter of its size in the layer, or else anywhere in the
  // model (a head that shares the embedding's weights); of experts, where their layer's begin.
  // Nothing for a product of activations.
  std::optional<ParameterAt> weights;
  std::vector<ParameterAt> ready; // gradients that are there after its backward pass, in order

  // Of one sample. The backward pass multiplies as much for each gradient.
  double forward_flops() const;
  double backward_flops() const { return forward_flops() * (product.input_gradient ? 2 : 1); }
  std::uint64_t weight_elements() const { return product.n * product.k * groups; }
};

struct StepLayer {
  std::vector<StepProduct> products; // in the order of the forward pass
  std::vector<ParameterAt> ready;    // the rest of its gradients, at the end of its backward pass
};

struct StepModel {
  ModelSpec spec;
  std::vector<StepLayer> layers; // as in `spec`

  double forward_flops() const;
  double backward_flops() const;
};

// Gradients become ready in arrival_order(): those of a product's weights with it, and with them
// all that come before.
StepModel make_step_model(ModelSpec spec);

} // namespace ncclprobe::workload
