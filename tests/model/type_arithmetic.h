// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"
#include "model/reduce_op.h"

#include <cstdint>
#include <vector>

// A library's arithmetic for a type, implemented independently of the oracle from the definitions
// of the types, on numbers that can represent every value of every type (64 bits of mantissa).
namespace ncclprobe::model {

using Exact = long double;
static_assert(__LDBL_MANT_DIG__ >= 64);

// The value of an element with these bits.
Exact decode(DataType type, std::uint64_t bits);

// The number of the type that is next to a value; halfway, the one with an even mantissa.
Exact rounded(DataType type, Exact value);

// One step of a reduction as a GPU does it: rounded or wrapped around to the type. avg and
// premul_sum add.
Exact reduced(DataType type, ReduceOp op, Exact a, Exact b);

// The change of each input by an average or a premultiplied sum, and of the sum by an average.
Exact before_reduction(DataType type, ReduceOp op, int ranks, Exact input);
Exact after_reduction(DataType type, ReduceOp op, int ranks, Exact all);

// In the order of a tree that grows at random: neighbours, no neighbours, chains, balanced parts.
Exact reduced_in_random_order(DataType type, ReduceOp op, std::vector<Exact> inputs,
                              std::uint64_t seed);

} // namespace ncclprobe::model
