// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/step_model.h"

#include <algorithm>

namespace ncclprobe::workload {
namespace {

bool has_size(const ModelSpec& spec, ParameterAt at, const StepProduct& product) {
  return parameter_at(spec, at).elements == product.weight_elements();
}

// Parameters of each layer, in the order of their gradients.
std::vector<std::vector<ParameterAt>> arrivals_by_layer(const ModelSpec& spec) {
  std::vector<std::vector<ParameterAt>> by_layer(spec.layers.size());
  for (ParameterAt at : arrival_order(spec))
    by_layer[at.layer].push_back(at);
  return by_layer;
}

std::optional<ParameterAt> shared_weights(const ModelSpec& spec, const StepProduct& product) {
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer)
    for (std::size_t i = 0; i < spec.layers[layer].parameters.size(); ++i)
      if (has_size(spec, {layer, i}, product))
        return ParameterAt{layer, i};
  return std::nullopt;
}

} // namespace

double StepProduct::forward_flops() const {
  double copies =
      product.kind == Product::Kind::activations ? static_cast<double>(product.count) : 1.0;
  return 2.0 * copies * static_cast<double>(product.rows) * static_cast<double>(product.n) *
         static_cast<double>(product.k);
}

double StepModel::forward_flops() const {
  double sum = 0;
  for (const StepLayer& layer : layers)
    for (const StepProduct& product : layer.products)
      sum += product.forward_flops();
  return sum;
}

double StepModel::backward_flops() const {
  double sum = 0;
  for (const StepLayer& layer : layers)
    for (const StepProduct& product : layer.products)
      sum += product.backward_flops();
  return sum;
}

StepModel make_step_model(ModelSpec spec) {
  StepModel made;
  std::vector<std::vector<ParameterAt>> arrivals = arrivals_by_layer(spec);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const Layer& layer = spec.layers[i];
    StepLayer step;
    for (const Product& product : layer.products) {
      step.products.push_back({product});
      if (layer.experts > 0)
        step.products.back().groups = static_cast<std::uint64_t>(layer.experts);
    }
    std::vector<ParameterAt>& left = arrivals[i];
    for (auto product = step.products.rbegin(); product != step.products.rend(); ++product) {
      if (product->product.kind != Product::Kind::weights)
        continue;
      auto found =
          std::ranges::find_if(left, [&](ParameterAt at) { return has_size(spec, at, *product); });
      if (found == left.end()) {
        bool of_experts = product->groups > 1 && !left.empty();
        product->weights =
            of_experts ? std::optional(left.front()) : shared_weights(spec, *product);
        continue;
      }
      product->weights = *found;
      product->ready.assign(left.begin(), found + 1);
      left.erase(left.begin(), found + 1);
    }
    step.ready = std::move(left);
    made.layers.push_back(std::move(step));
  }
  made.spec = std::move(spec);
  return made;
}

} // namespace ncclprobe::workload
