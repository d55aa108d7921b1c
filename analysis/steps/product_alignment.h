// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/step_results.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>

// Are the shapes of a step's matrix products suitable for tensor cores (model/gemm_alignment.h)?
namespace ncclprobe::analysis::steps {

struct ProductAlignment {
  std::size_t products = 0;    // of a step on tensor cores, of all ranks
  std::size_t unaligned = 0;   // of these
  std::set<std::string> edges; // dimensions that are not a multiple of 16 bytes: "m=50257"
};
// Nothing if no product of the step runs on tensor cores.
std::optional<ProductAlignment> product_alignment(const model::Run& run, const StepResult& step);

// "matrix products: columns of all 146 of a step are aligned to 16 bytes, where tensor cores load
// best"; "matrix products: columns of 3 of 146 of a step are not aligned to 16 bytes, ...:
// m=50257".
std::string in_words(const ProductAlignment& one);

} // namespace ncclprobe::analysis::steps
