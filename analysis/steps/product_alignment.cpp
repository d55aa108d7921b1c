// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/product_alignment.h"

#include "analysis/steps/measured_cell.h"
#include "model/gemm_alignment.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

namespace ncclprobe::analysis::steps {

std::optional<ProductAlignment> product_alignment(const model::Run& run, const StepResult& step) {
  const model::Cell* cell = cell_of(run, step);
  if (!cell)
    return std::nullopt;
  const model::Schedule* schedule = &cell->schedule;
  ProductAlignment found;
  for (int i = schedule->timed.first; i < schedule->timed.last; ++i) {
    const model::Operation& operation = schedule->operations[i];
    const auto* gemm = std::get_if<model::GemmOp>(&operation.what);
    if (!gemm || !model::uses_tensor_cores(gemm->type, gemm->math))
      continue;
    const auto ranks = static_cast<std::size_t>(std::ranges::count_if(
        step.step.ranks, [&](int rank) { return model::names_rank(operation.ranks, rank); }));
    found.products += ranks;
    if (std::string edges =
            model::unaligned_edges(gemm->m, gemm->n, gemm->k, gemm->type, gemm->layout, gemm->math);
        !edges.empty()) {
      found.unaligned += ranks;
      found.edges.insert(std::move(edges));
    }
  }
  return found.products > 0 ? std::optional(std::move(found)) : std::nullopt;
}

std::string in_words(const ProductAlignment& one) {
  constexpr std::size_t k_most_edges = 4;
  if (one.unaligned == 0)
    return fmt::format("matrix products: all {} of a step have columns aligned to {} bytes, "
                       "the fastest for tensor cores to load",
                       one.products, model::k_tensor_core_bytes);
  std::vector<std::string> edges(one.edges.begin(), one.edges.end());
  const bool cut = edges.size() > k_most_edges;
  edges.resize(std::min(edges.size(), k_most_edges));
  return fmt::format("matrix products: {} of {} of a step have columns not aligned to {} bytes, "
                     "so tensor cores load them slower: {}{}",
                     one.unaligned, one.products, model::k_tensor_core_bytes,
                     fmt::join(edges, "; "), cut ? " ..." : "");
}

} // namespace ncclprobe::analysis::steps
