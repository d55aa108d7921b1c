// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/tensor_parallel.h"

#include <algorithm>

namespace ncclprobe::workload {

using namespace model;

namespace {

bool is_cut(const Layer& layer) {
  return layer.kind == LayerKind::attention || layer.kind == LayerKind::mlp;
}
bool is_cut_by_words(const Layer& layer) {
  return layer.kind == LayerKind::embedding || layer.kind == LayerKind::head;
}

std::uint64_t share(std::uint64_t whole, std::uint64_t parts) {
  return (whole + parts - 1) / parts;
}

// A layer's parameters follow its products: weights are split with them, and a column-split
// product's bias too.
void cut_parameters(const Layer& whole, std::uint64_t parts, Layer& part) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < whole.products.size(); ++i)
    if (whole.products[i].kind == Product::Kind::weights)
      last = i;
  for (Parameter& parameter : part.parameters)
    for (std::size_t i = 0; i < whole.products.size(); ++i) {
      const Product& product = whole.products[i];
      bool weights = product.kind == Product::Kind::weights;
      bool bias_of_columns = i != last && parameter.elements == product.n;
      if (weights && (parameter.elements == product.n * product.k || bias_of_columns)) {
        parameter.elements = share(parameter.elements, parts);
        break;
      }
    }
}

Result<void> cut(const Layer& whole, std::uint64_t parts, Layer& part) {
  auto last_weights =
      std::find_if(whole.products.rbegin(), whole.products.rend(),
                   [](const Product& product) { return product.kind == Product::Kind::weights; });
  for (std::size_t i = 0; i < part.products.size(); ++i) {
    Product& product = part.products[i];
    bool last = last_weights != whole.products.rend() && &whole.products[i] == &*last_weights;
    std::uint64_t& dimension = product.kind == Product::Kind::activations ? product.count
                               : last                                     ? product.k
                                                                          : product.n;
    if (dimension % parts != 0)
      return fail(Errc::unsupported, "{} of {} cannot be shared by {} ranks",
                  product.kind == Product::Kind::activations
                      ? fmt::format("{} heads", dimension)
                      : fmt::format("a width of {}", dimension),
                  whole.name, parts);
    dimension /= parts;
  }
  cut_parameters(whole, parts, part);
  return {};
}

} // namespace

Result<RankGrid> make_rank_grid(const StepOptions& options, const std::vector<int>& ranks) {
  RankGrid grid;
  int all = static_cast<int>(ranks.size());
  switch (options.pattern) {
  case StepPattern::tp:
    grid.tensor = options.tensor > 0 ? options.tensor : all;
    break;
  case StepPattern::pipeline: // its stages share one replica
    grid.tensor = all;
    break;
  case StepPattern::ddp_tp:
  case StepPattern::fsdp_tp:
    grid.tensor = options.tensor > 0 ? options.tensor : 2;
    break;
  default:
    break;
  }
  if (all == 1) // the reference for all others
    grid.tensor = 1;
  if (all % grid.tensor != 0)
    return fail(Errc::unsupported, "{} ranks do not divide into groups of {} that share layers",
                all, grid.tensor);
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  grid.tensor_groups.resize(all / grid.tensor);
  grid.data_groups.resize(grid.tensor);
  for (int i = 0; i < all; ++i) {
    int rank = sorted[i];
    grid.tensor_groups[i / grid.tensor].push_back(rank);
    grid.data_groups[i % grid.tensor].push_back(rank);
  }
  return grid;
}

Result<ModelSpec> tensor_parallel_part(const ModelSpec& whole, int tensor) {
  ModelSpec part = whole;
  auto parts = static_cast<std::uint64_t>(tensor);
  if (tensor == 1)
    return part;
  for (std::size_t i = 0; i < whole.layers.size(); ++i) {
    const Layer& layer = whole.layers[i];
    if (layer.kind == LayerKind::experts)
      return fail(Errc::unsupported, "tensor parallelism does not split experts here");
    if (is_cut(layer))
      NCCLPROBE_TRY(cut(layer, parts, part.layers[i]));
    if (is_cut_by_words(layer)) {
      for (Product& product : part.layers[i].products)
        product.n = share(product.n, parts);
      for (Parameter& parameter : part.layers[i].parameters)
        parameter.elements = share(parameter.elements, parts);
    }
  }
  return part;
}

TensorParallel::TensorParallel(StepBuilder& build, const StepRequest& request, const RankGrid& grid,
                               const ModelSpec& whole)
    : build_(build), request_(request), grid_(grid), whole_(whole) {
  if (grid.tensor < 2 || !build.communicates())
    return;
  groups_ = build.add_groups("tensor parallel", grid.tensor_groups);
  stream_ = build.add_stream("tensor parallel", request.priority);
}

void TensorParallel::before(std::size_t index, Activity pass, std::uint64_t samples) {
  const Layer& layer = whole_.layers[index];
  if (groups_.empty() || !request_.sequence_parallel || !is_cut(layer))
    return;
  exchange(Collective::all_gather, fmt::format("gather {} {}", to_string(pass), layer.name),
           layer.output_elements * samples);
}

void TensorParallel::after(std::size_t index, Activity pass, std::uint64_t samples) {
  const Layer& layer = whole_.layers[index];
  if (groups_.empty())
    return;
  std::string label = fmt::format("{} {}", to_string(pass), layer.name);
  if (is_cut(layer)) {
    bool scattered = request_.sequence_parallel;
    exchange(scattered ? Collective::reduce_scatter : Collective::all_reduce, "sum " + label,
             layer.output_elements * samples);
  } else if (layer.kind == LayerKind::embedding && pass == Activity::forward) {
    exchange(Collective::all_reduce, "sum " + label, layer.output_elements * samples);
  } else if (layer.kind == LayerKind::head && pass == Activity::backward &&
             !layer.products.empty()) {
    const Product& product = layer.products.front();
    exchange(Collective::all_reduce, "sum " + label, product.rows * product.k * samples);
  }
}

void TensorParallel::exchange(Collective what, const std::string& label, std::uint64_t elements) {
  auto ranks = static_cast<std::uint64_t>(grid_.tensor);
  std::uint64_t count = what == Collective::all_reduce ? elements : (elements + ranks - 1) / ranks;
  Places at = places(what, count);
  build_.follow(stream_, StepBuilder::compute);
  build_.enter(stream_, Activity::communication, label);
  build_.collective(what, groups_, stream_, at.send, at.receive, count, build_.type());
  build_.leave(stream_);
  build_.follow(StepBuilder::compute, stream_);
}

const TensorParallel::Places& TensorParallel::places(Collective what, std::uint64_t count) {
  auto [found, is_new] = places_.try_emplace({what, count});
  Places& at = found->second;
  if (!is_new)
    return at;
  BlockCounts blocks = block_counts(what, grid_.tensor);
  auto bytes = [&](int of) {
    return count * static_cast<std::uint64_t>(of) * build_.element_bytes();
  };
  at.send = {build_.add_buffer("partial", bytes(blocks.send), request_.memory)};
  at.receive = {build_.add_buffer("summed", bytes(blocks.receive), request_.memory)};
  build_.fill(what, groups_, at.send, count * static_cast<std::uint64_t>(blocks.send),
              build_.type());
  build_.check(what, groups_, at.receive, count, build_.type());
  return at;
}

} // namespace ncclprobe::workload
