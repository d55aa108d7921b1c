// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

namespace ncclprobe::model {

// avg divides the sum by the number of ranks; integers truncate, as in NCCL. premul_sum adds up
// what each rank has multiplied by k_premul_scalar. Stored by number: append only.
enum class ReduceOp { sum, max, min, avg, prod, premul_sum };

// A power of two, so products are exact in every floating-point type.
inline constexpr int k_premul_scalar = 2;

} // namespace ncclprobe::model
