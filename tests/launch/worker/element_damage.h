// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"
#include "model/reduce_op.h"

#include <cstddef>
#include <cstdint>

// Effects of wrong arithmetic on elements.
namespace ncclprobe::support {

// Rounds floats to a narrower type: f64 to f32, f32 and bf16 to f16, f16 to bf16, f8e4m3 and f8e5m2
// to each other.
void round_to_narrower(model::DataType type, std::byte* data, std::uint64_t count);

// Clears the upper half of integers.
void clear_upper_half(model::DataType type, std::byte* data, std::uint64_t count);

// Makes all numbers positive.
void drop_signs(model::DataType type, std::byte* data, std::uint64_t count);

// The operation's result for each number and itself.
void count_twice(model::DataType type, model::ReduceOp op, std::byte* data, std::uint64_t count);

} // namespace ncclprobe::support
