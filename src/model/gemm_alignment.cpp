// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/gemm_alignment.h"

#include "base/error.h"

namespace ncclprobe::model {

bool uses_tensor_cores(DataType type, GemmMath math) {
  return type != DataType::f32 || math != GemmMath::full;
}

std::string unaligned_edges(std::uint64_t m, std::uint64_t n, std::uint64_t k, DataType type,
                            GemmLayout layout, GemmMath math) {
  std::string odd;
  if (!uses_tensor_cores(type, math))
    return odd;
  const std::uint64_t wanted = k_tensor_core_bytes / size_bytes(type);
  auto look_at = [&](const char* name, std::uint64_t value, bool is_read_along) {
    if (is_read_along && value % wanted != 0)
      odd += fmt::format("{}{}={}", odd.empty() ? "" : ", ", name, value);
  };
  look_at("m", m, true); // columns of C, and of A where that is not transposed
  look_at("n", n, layout == GemmLayout::nt);
  look_at("k", k, layout != GemmLayout::nt);
  return odd;
}

} // namespace ncclprobe::model
