// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/schedule.h"

#include <cstdint>
#include <string>

namespace ncclprobe::model {

// False for f32 at full precision.
bool uses_tensor_cores(DataType type, GemmMath math);

// Tensor cores load fastest from addresses that are multiples of 16 bytes: every column of C and of
// both factors should begin at one.
inline constexpr std::uint64_t k_tensor_core_bytes = 16;

// For a product as GemmOp describes it: the dimensions along which columns are read and that are
// not a multiple of 16 bytes, "m=50257, k=767". Empty if there are none, or if tensor cores are not
// used.
std::string unaligned_edges(std::uint64_t m, std::uint64_t n, std::uint64_t k, DataType type,
                            GemmLayout layout, GemmMath math);

} // namespace ncclprobe::model
