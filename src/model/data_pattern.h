// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/collective.h"
#include "model/data_type.h"
#include "model/reduce_op.h"

#include <cstdint>

// The oracle of the data check: what every rank puts in and what must come out, computed from
// indexes alone and never by the library under test. Everything is constexpr, so that a CUDA kernel
// and the CPU use the same lines (nvcc --expt-relaxed-constexpr), and C++17, which is all that the
// nvcc of CUDA 11 reads.
//
// Inputs are small non-negative integers, chosen so that every partial result is exact in the type
// and any order of operations gives the same bits: results are compared bit for bit. Where many
// ranks or a narrow type leave no room for that, only some ranks contribute to each element, others
// at other elements, and the rest put in what changes nothing (0; 1 to a product; the largest value
// to a minimum). Only a floating-point average over a number of ranks that is no power of two
// rounds; there a single rank contributes to each element and 2 ulp are allowed (1/n rounded, then
// the product rounded).
namespace ncclprobe::model {

// No input, and no exact result, ever has this byte repeated as its representation.
inline constexpr std::uint8_t k_poison_byte = 0xFF;

struct Pattern {
  std::uint64_t seed = 0;
  std::uint32_t modulus = 1;  // values are in [base, base + modulus)
  std::uint32_t sparsity = 1; // and only where (index + rank) % sparsity == 0, elsewhere `rest`
  std::uint32_t base = 0;
  std::uint32_t rest = 0;

  // The integer that `rank` contributes at `index`.
  constexpr std::uint32_t value(int rank, std::uint64_t index) const {
    if (sparsity > 1 && (index + static_cast<std::uint64_t>(rank)) % sparsity != 0)
      return rest;
    std::uint64_t x = seed + (static_cast<std::uint64_t>(rank) + 1) * 0x9E3779B97F4A7C15 + index;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9; // splitmix64's mixing, shortened
    x ^= x >> 27;
    return base + static_cast<std::uint32_t>((x >> 8) % modulus);
  }
};

// Largest integer up to which every integer is exact in the type and none is the poison.
constexpr std::uint32_t exact_limit(DataType type) {
  switch (type) {
  case DataType::f8e5m2:
    return 8;
  case DataType::f8e4m3:
    return 16;
  case DataType::i8:
    return 127;
  case DataType::u8:
    return 254;
  case DataType::bf16:
    return 256;
  case DataType::f16:
    return 2048;
  default:
    return 1U << 24;
  }
}

// Averages that cannot be checked: NCCL multiplies by 1/n in the type, and beyond 64 ranks that is
// below the normal numbers of f8e4m3 (2^-6), soon even zero.
constexpr bool can_check(DataType type, ReduceOp op, int ranks) {
  return type != DataType::f8e4m3 || op != ReduceOp::avg || ranks <= 64;
}

constexpr Pattern pattern_for(std::uint64_t seed, Collective collective, DataType type, ReduceOp op,
                              int ranks) {
  std::uint32_t limit = exact_limit(type);
  if (!reduces(collective))
    return {seed, limit, 1};
  auto n = static_cast<std::uint32_t>(ranks);
  std::uint32_t pairs = (n + 1) / 2; // as sparsity: at most two ranks contribute to an element
  if (op == ReduceOp::max)
    return {seed, limit, pairs};
  if (op == ReduceOp::min)
    return {seed, limit, pairs, 0, limit - 1};
  if (op == ReduceOp::prod) {
    std::uint32_t root = 1;
    while ((root + 1) * (root + 1) <= limit)
      ++root;
    bool room_for_two = n > 1 && root >= 4;
    return room_for_two ? Pattern{seed, root, pairs, 1, 1} : Pattern{seed, limit, n, 1, 1};
  }
  if (op == ReduceOp::avg && is_float(type) && (n & (n - 1)) != 0)
    return {seed, limit, n};
  if (op == ReduceOp::premul_sum && !is_float(type))
    limit /= k_premul_scalar; // floats of twice the size are as exact
  if (limit / n >= 7)
    return {seed, limit / n + 1, 1};
  std::uint32_t contributors = limit / 7; // per element, so that 7 from each stay exact
  return {seed, 8, (n + contributors - 1) / contributors};
}

// What stands in the elements [0, count) of a checked slice. Either a reduction over all ranks at
// first_index + i, or a copy: block number i / block comes from rank first_rank + that number.
struct Expectation {
  bool reduction = false;
  ReduceOp op = ReduceOp::sum;
  int ranks = 1;
  int first_rank = 0;
  std::uint64_t first_index = 0;
  std::uint64_t block = 1;
  std::uint64_t count = 0; // 0: nothing to check on this rank

  // The exact value; representable in the type except for the average described above.
  constexpr double value(const Pattern& pattern, DataType type, std::uint64_t i) const {
    if (!reduction)
      return pattern.value(first_rank + static_cast<int>(i / block), first_index + i % block);
    std::uint64_t index = first_index + i;
    std::uint64_t result = pattern.value(0, index);
    for (int rank = 1; rank < ranks; ++rank)
      result = combine(op, result, pattern.value(rank, index));
    return finish(op, type, ranks, result);
  }

  // What the operation makes of the elements of two ranks, and at the end of all ranks' together.
  static constexpr std::uint64_t combine(ReduceOp op, std::uint64_t a, std::uint64_t b) {
    switch (op) {
    case ReduceOp::max:
      return a > b ? a : b;
    case ReduceOp::min:
      return a < b ? a : b;
    case ReduceOp::prod:
      return a * b;
    default:
      return a + b;
    }
  }
  static constexpr double finish(ReduceOp op, DataType type, int ranks, std::uint64_t result) {
    if (op == ReduceOp::premul_sum)
      result *= static_cast<std::uint64_t>(k_premul_scalar);
    if (op != ReduceOp::avg)
      return static_cast<double>(result);
    auto n = static_cast<std::uint64_t>(ranks);
    return is_float(type) ? static_cast<double>(result) / static_cast<double>(n)
                          : static_cast<double>(result / n);
  }
};

// Which block of an all_to_all_v is meant: from the rank `distance` before the receiver, out of its
// input from element first_index on.
struct BlockSource {
  int distance = 0;
  std::uint64_t first_index = 0;
};

// For rank `rank` of a communicator of `ranks`, after a collective of `count` elements (counted as
// in NCCL's call of that name; in an all_to_all_v the block's). send_recv is the ring: data comes
// from the previous rank.
constexpr Expectation expectation_for(Collective collective, ReduceOp op, int root,
                                      std::uint64_t count, int rank, int ranks,
                                      BlockSource source = {}) {
  auto block = count == 0 ? 1 : count;
  auto r = static_cast<std::uint64_t>(rank);
  auto n = static_cast<std::uint64_t>(ranks);
  switch (collective) {
  case Collective::all_reduce:
    return {true, op, ranks, 0, 0, block, count};
  case Collective::reduce:
    return {true, op, ranks, 0, 0, block, rank == root ? count : 0};
  case Collective::reduce_scatter:
    return {true, op, ranks, 0, r * count, block, count};
  case Collective::broadcast:
    return {false, op, ranks, root, 0, block, count};
  case Collective::all_gather:
  case Collective::hypercube:
    return {false, op, ranks, 0, 0, block, n * count};
  case Collective::gather:
    return {false, op, ranks, 0, 0, block, rank == root ? n * count : 0};
  case Collective::scatter:
    return {false, op, ranks, root, r * count, block, count};
  case Collective::all_to_all:
    return {false, op, ranks, 0, r * count, block, n * count};
  case Collective::send_recv:
    return {false, op, ranks, (rank + ranks - 1) % ranks, 0, block, count};
  case Collective::all_to_all_v:
    return {
        false, op,   ranks, (rank + ranks - source.distance % ranks) % ranks, source.first_index,
        block, count};
  }
  return {};
}

// std::bit_cast of C++20.
constexpr std::uint64_t bits_of(double value) {
  return __builtin_bit_cast(std::uint64_t, value);
}
constexpr std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

// Bits of a non-negative finite value in the type, rounded to nearest even, in the low bytes.
constexpr std::uint64_t encode(DataType type, double value) {
  // Drops `drop` low bits of an IEEE pattern, rounding to nearest even.
  auto round_off = [](std::uint64_t bits, int drop) {
    std::uint64_t half = (std::uint64_t{1} << (drop - 1)) - 1 + ((bits >> drop) & 1);
    return (bits + half) >> drop;
  };
  // A float with an exponent of this bias and a mantissa of so many bits.
  auto narrow = [&](int mantissa, int bias) -> std::uint64_t {
    std::uint64_t bits = bits_of(value);
    if (bits >> 52 > static_cast<std::uint64_t>(1023 - bias))
      return round_off(bits - (static_cast<std::uint64_t>(1023 - bias) << 52), 52 - mantissa);
    // Subnormal: a multiple of the smallest.
    double units =
        value * static_cast<double>(std::uint64_t{1} << static_cast<unsigned>(bias - 1 + mantissa));
    auto whole = static_cast<std::uint64_t>(units);
    double rest = units - static_cast<double>(whole);
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 == 1) ? 1 : 0);
  };
  switch (type) {
  case DataType::i8:
  case DataType::u8:
  case DataType::i32:
  case DataType::u32:
  case DataType::i64:
  case DataType::u64:
    return static_cast<std::uint64_t>(value);
  case DataType::f64:
    return bits_of(value);
  case DataType::f32:
    return bits_of(static_cast<float>(value));
  case DataType::bf16:
    return round_off(bits_of(static_cast<float>(value)), 16);
  case DataType::f16:
    return narrow(10, 15);
  case DataType::f8e4m3:
    return narrow(3, 7);
  case DataType::f8e5m2:
    return narrow(2, 15);
  }
  return 0;
}

// Does a stored element (its bits, zero-extended) hold the expected value? Exact, but for a
// floating-point average, where 2 units in the last place are allowed.
constexpr bool matches(DataType type, ReduceOp op, std::uint64_t bits, double expected) {
  std::uint64_t wanted = encode(type, expected);
  if (bits == wanted)
    return true;
  if (op != ReduceOp::avg || !is_float(type))
    return false;
  return (bits > wanted ? bits - wanted : wanted - bits) <= 2;
}

} // namespace ncclprobe::model
