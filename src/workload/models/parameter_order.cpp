// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/parameter_order.h"

#include <algorithm>

namespace ncclprobe::workload {
namespace {

std::vector<ParameterAt> use_order(const ModelSpec& spec) {
  std::vector<ParameterAt> all;
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer)
    for (std::size_t i = 0; i < spec.layers[layer].parameters.size(); ++i)
      all.push_back({layer, i});
  return all;
}

} // namespace

std::vector<ParameterAt> registration_order(const ModelSpec& spec) {
  std::vector<ParameterAt> all = use_order(spec);
  std::ranges::stable_sort(all, [&](ParameterAt a, ParameterAt b) {
    return parameter_at(spec, a).place < parameter_at(spec, b).place;
  });
  return all;
}

std::vector<ParameterAt> arrival_order(const ModelSpec& spec) {
  std::vector<ParameterAt> all = use_order(spec);
  std::ranges::reverse(all);
  return all;
}

} // namespace ncclprobe::workload
