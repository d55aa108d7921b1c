// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"
#include "model/reduce_op.h"

#include <cstddef>
#include <cstdint>

// What Gloo's reductions do to elements. Gloo takes a function on void pointers, so types and
// operations that it lacks (bf16, avg) are ours. 16-bit floats are computed in f32 and rounded to
// nearest even after each step, as NCCL does.
namespace ncclprobe::host {

float float_from_f16(std::uint16_t bits);
std::uint16_t f16_from_float(float value);
float float_from_bf16(std::uint16_t bits);
std::uint16_t bf16_from_float(float value);

// out[i] = a[i] op b[i] for i < count; out may be a or b.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, std::size_t count);

// For avg this is the sum: divide_by_ranks() makes the average of it at the end.
ReduceFunction reduce_function(model::DataType, model::ReduceOp);

// Integers truncate towards zero.
void divide_by_ranks(void* data, model::DataType, std::size_t count, int ranks);

} // namespace ncclprobe::host
