// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"
#include "model/reduce_op.h"

#include <cstdint>
#include <vector>

// What a library does to numbers of a type, written down without the oracle: from the definitions
// of the types, on numbers that hold every value of every type (64 bits of mantissa).
namespace ncclprobe::model {

using Exact = long double;
static_assert(__LDBL_MANT_DIG__ >= 64);

// What an element with these bits is worth.
Exact decode(DataType type, std::uint64_t bits);

// The number of the type that is next to a value; halfway, the one with an even mantissa.
Exact rounded(DataType type, Exact value);

// One step of a reduction as a GPU does it: rounded or wrapped around to the type. avg and
// premul_sum add.
Exact reduced(DataType type, ReduceOp op, Exact a, Exact b);

// What an average or a premultiplied sum does to each input, and what an average does to the sum.
Exact before_reduction(DataType type, ReduceOp op, int ranks, Exact input);
Exact after_reduction(DataType type, ReduceOp op, int ranks, Exact all);

// In the order of a tree that grows at random: neighbours, no neighbours, chains, balanced parts.
Exact reduced_in_random_order(DataType type, ReduceOp op, std::vector<Exact> inputs,
                              std::uint64_t seed);

} // namespace ncclprobe::model
