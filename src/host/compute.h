// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/schedule.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

// The compute operations of training, on one thread: the load grows with the work as on a GPU, and
// results are correct. Types are f32, f16 and bf16; sums are kept in f32.
namespace ncclprobe::host {

// Matrices are stored in column-major order, as in BLAS (model::GemmOp).
struct Gemm {
  const std::byte* a;
  const std::byte* b;
  std::byte* c;
  std::uint64_t m = 0, n = 0, k = 0, batch = 1;
  model::DataType type = model::DataType::f32;
  model::GemmLayout layout = model::GemmLayout::nn;
};
// Ends early, with a partial result, once `stop` is true.
void multiply(const Gemm& gemm, const std::atomic<bool>& stop);

// into[i] = from[i], rounded to nearest even.
void convert(const std::byte* from, model::DataType from_type, std::byte* into,
             model::DataType into_type, std::uint64_t count);

// See backend/adamw.h. `state` holds both moments of all elements, one array after the other.
void optimize(const std::byte* gradients, std::byte* weights, std::byte* state,
              model::DataType type, std::uint64_t count);

} // namespace ncclprobe::host
