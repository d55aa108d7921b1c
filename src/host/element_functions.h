// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"
#include "model/reduce_op.h"

#include <cstddef>
#include <cstdint>

// The element functions of Gloo's reductions. Gloo takes a function on void pointers, so we supply
// types and operations that it lacks (bf16, f8, avg, ...). Narrow floats are computed in f32 and
// rounded to nearest even after each step, as in NCCL.
namespace ncclprobe::host {

float float_from_f16(std::uint16_t bits);
std::uint16_t f16_from_float(float value);
float float_from_bf16(std::uint16_t bits);
std::uint16_t bf16_from_float(float value);

// The two types of the OCP 8-bit floating point specification. Values that are too large become the
// largest number, as in CUDA's conversions. f8e4m3 has no infinity.
float float_from_f8e4m3(std::uint8_t bits);
std::uint8_t f8e4m3_from_float(float value);
float float_from_f8e5m2(std::uint8_t bits);
std::uint8_t f8e5m2_from_float(float value);

// Converts `count` elements of f32, f16 or bf16 to f32, or back with rounding.
void to_floats(model::DataType type, const void* from, float* into, std::size_t count);
void from_floats(model::DataType type, const float* from, void* into, std::size_t count);

// out[i] = a[i] op b[i] for i < count; out may be a or b.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, std::size_t count);

// For avg and premul_sum this is the sum; finish_reduction() does the rest at the end.
ReduceFunction reduce_function(model::DataType, model::ReduceOp);

// avg: divides by the number of ranks, integers towards zero. premul_sum: multiplies, which is the
// same for the whole sum as for each part. Does nothing for other operations.
void finish_reduction(void* data, model::DataType, model::ReduceOp, std::size_t count, int ranks);

} // namespace ncclprobe::host
