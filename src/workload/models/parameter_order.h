// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/models/model_spec.h"

#include <cstddef>
#include <vector>

namespace ncclprobe::workload {

// A parameter of a ModelSpec: spec.layers[layer].parameters[parameter].
struct ParameterAt {
  std::size_t layer = 0;
  std::size_t parameter = 0;
  bool operator==(const ParameterAt&) const = default;
};

inline const Parameter& parameter_at(const ModelSpec& spec, ParameterAt at) {
  return spec.layers[at.layer].parameters[at.parameter];
}

// The order of named_parameters(). Parameters without a number, or with equal numbers, follow the
// order of the layers.
std::vector<ParameterAt> registration_order(const ModelSpec& spec);

// The order in which the backward pass produces gradients. It is almost the reverse of the
// registration, with two exceptions. Models register some parts in another order than they use them
// (norms of Llama's blocks). And PyTorch's autograd takes a norm's or a convolution's weight before
// its bias, but a Linear's bias before its weight.
std::vector<ParameterAt> arrival_order(const ModelSpec& spec);

} // namespace ncclprobe::workload
