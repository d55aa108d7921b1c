// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/schedule.h"

#include <cstdint>
#include <string>

namespace ncclprobe::model {

// f32 at full precision is computed without them.
bool uses_tensor_cores(DataType type, GemmMath math);

// Tensor cores load best from where 16 bytes begin: so must every column of C and of both factors.
inline constexpr std::uint64_t k_tensor_core_bytes = 16;

// Of a product as GemmOp describes it, the edges along which columns are read and that are no
// multiple of 16 bytes: "m=50257, k=767". Empty if there is none, or if tensor cores are not used.
std::string unaligned_edges(std::uint64_t m, std::uint64_t n, std::uint64_t k, DataType type,
                            GemmLayout layout, GemmMath math);

} // namespace ncclprobe::model
