// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/type_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace ncclprobe::model {

namespace {

__extension__ using Wide = __int128;

struct Format {
  int mantissa;       // bits, without the leading one
  int least_exponent; // of normal numbers
};

Format format_of(DataType type) {
  switch (type) {
  case DataType::f64:
    return {52, -1022};
  case DataType::f32:
    return {23, -126};
  case DataType::bf16:
    return {7, -126};
  case DataType::f16:
    return {10, -14};
  case DataType::f8e4m3:
    return {3, -6};
  default:
    return {2, -14};
  }
}

int bits_of(DataType type) {
  return 8 * static_cast<int>(size_bytes(type));
}

Exact wrapped(DataType type, Wide value) {
  Wide range = Wide{1} << bits_of(type);
  value %= range;
  if (value < 0)
    value += range;
  if (!is_unsigned(type) && value >= range / 2)
    value -= range;
  return static_cast<Exact>(value);
}

} // namespace

Exact decode(DataType type, std::uint64_t bits) {
  if (!is_float(type))
    return wrapped(type, static_cast<Wide>(bits));
  auto [mantissa, least_exponent] = format_of(type);
  std::uint64_t sign = bits >> (bits_of(type) - 1);
  std::uint64_t magnitude = bits & ~(std::uint64_t{1} << (bits_of(type) - 1));
  auto exponent = static_cast<int>(magnitude >> mantissa);
  auto fraction = static_cast<Exact>(magnitude & ((std::uint64_t{1} << mantissa) - 1));
  Exact whole = exponent == 0 ? fraction : fraction + std::ldexp(Exact{1}, mantissa);
  Exact value = std::ldexp(whole, std::max(exponent, 1) - 1 + least_exponent - mantissa);
  return sign != 0 ? -value : value;
}

Exact rounded(DataType type, Exact value) {
  if (!is_float(type) || value == 0)
    return value;
  auto [mantissa, least_exponent] = format_of(type);
  int exponent = std::max(std::ilogb(value), least_exponent);
  Exact units = std::nearbyint(std::ldexp(value, mantissa - exponent)); // to even
  return std::ldexp(units, exponent - mantissa);
}

Exact reduced(DataType type, ReduceOp op, Exact a, Exact b) {
  if (op == ReduceOp::max)
    return std::max(a, b);
  if (op == ReduceOp::min)
    return std::min(a, b);
  bool multiplies = op == ReduceOp::prod;
  if (is_float(type))
    return rounded(type, multiplies ? a * b : a + b);
  auto x = static_cast<Wide>(a);
  auto y = static_cast<Wide>(b);
  if (multiplies && is_unsigned(type)) { // the product of two u64 is beyond Wide
    auto product = static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
    return wrapped(type, static_cast<Wide>(product));
  }
  return wrapped(type, multiplies ? x * y : x + y);
}

// NCCL multiplies floats by 1/n in the type; integers are divided at the end, towards zero.
Exact before_reduction(DataType type, ReduceOp op, int ranks, Exact input) {
  if (op == ReduceOp::premul_sum)
    return reduced(type, ReduceOp::prod, input, k_premul_scalar);
  if (op == ReduceOp::avg && is_float(type))
    return rounded(type, input * rounded(type, Exact{1} / ranks));
  return input;
}
Exact after_reduction(DataType type, ReduceOp op, int ranks, Exact all) {
  if (op == ReduceOp::avg && !is_float(type))
    return static_cast<Exact>(static_cast<Wide>(all) / ranks);
  return all;
}

Exact reduced_in_random_order(DataType type, ReduceOp op, std::vector<Exact> inputs,
                              std::uint64_t seed) {
  std::minstd_rand random(static_cast<std::uint32_t>(seed) + 1);
  for (std::size_t left = inputs.size(); left > 1; --left) {
    std::size_t into = random() % left;
    std::size_t from = random() % (left - 1);
    from += from >= into ? 1 : 0;
    inputs[into] = reduced(type, op, inputs[into], inputs[from]);
    inputs[from] = inputs[left - 1];
  }
  return inputs.front();
}

} // namespace ncclprobe::model
