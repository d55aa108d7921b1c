// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"
#include "model/reduce_op.h"

#include <cstddef>
#include <cstdint>

// What Gloo's reductions do to elements. Gloo takes a function on void pointers, so types and
// operations that it lacks (bf16, f8, avg, ...) are ours. Narrow floats are computed in f32 and
// rounded to nearest even after each step, as NCCL does.
namespace ncclprobe::host {

float float_from_f16(std::uint16_t bits);
std::uint16_t f16_from_float(float value);
float float_from_bf16(std::uint16_t bits);
std::uint16_t bf16_from_float(float value);

// The two of the OCP 8-bit floating point specification. What is too large becomes the largest
// number, as in CUDA's conversions. f8e4m3 has no infinity.
float float_from_f8e4m3(std::uint8_t bits);
std::uint8_t f8e4m3_from_float(float value);
float float_from_f8e5m2(std::uint8_t bits);
std::uint8_t f8e5m2_from_float(float value);

// Of f32, f16 and bf16: `count` elements to f32, and back, rounded.
void to_floats(model::DataType type, const void* from, float* into, std::size_t count);
void from_floats(model::DataType type, const float* from, void* into, std::size_t count);

// out[i] = a[i] op b[i] for i < count; out may be a or b.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, std::size_t count);

// For avg and premul_sum this is the sum: finish_reduction() makes the rest of it at the end.
ReduceFunction reduce_function(model::DataType, model::ReduceOp);

// avg: divides by the number of ranks, integers towards zero. premul_sum: multiplies, which for the
// whole sum is the same as for each part of it. Nothing for others.
void finish_reduction(void* data, model::DataType, model::ReduceOp, std::size_t count, int ranks);

} // namespace ncclprobe::host
