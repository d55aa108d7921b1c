// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"

#include <cstdint>

// Numbers and their bits in each data type. Everything is constexpr and C++17, so CUDA kernels
// use the same lines (data_pattern.h).
namespace ncclprobe::model {

// units * 2^scale / divisor. Integer types have only units; those of u64 wrap around.
struct Number {
  std::int64_t units = 0;
  int scale = 0;
  bool may_be_poison = false; // for integer types: the number below replaces it
  int divisor = 1;
};

// Every integer of up to this many bits is exact in the type, and so is 2^exact_bits in a float.
constexpr int exact_bits(DataType type) {
  switch (type) {
  case DataType::f8e5m2:
    return 3;
  case DataType::f8e4m3:
    return 4;
  case DataType::bf16:
    return 8;
  case DataType::f16:
    return 11;
  case DataType::f32:
    return 24;
  case DataType::f64:
    return 53;
  default:
    return static_cast<int>(8 * size_bytes(type)) - (is_unsigned(type) ? 0 : 1);
  }
}

// Unwritten memory of buffers holds this byte. Repeated, it is no number in a float, and all ones
// in an integer.
inline constexpr std::uint8_t k_poison_byte = 0xFF;

// As many ones as an element has bits.
constexpr std::uint64_t all_ones(DataType type) {
  return ~std::uint64_t{0} >> (64 - 8 * size_bytes(type));
}

// C++20's std::bit_cast.
constexpr std::uint64_t bits_of(double value) {
  return __builtin_bit_cast(std::uint64_t, value);
}
constexpr std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

// 2^exponent, from 2^-1022 to 2^1023.
constexpr double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 + exponent) << 52);
}

constexpr double value_of(const Number& number) {
  double value = static_cast<double>(number.units) * power_of_two(number.scale);
  return number.divisor == 1 ? value : value / number.divisor;
}

// For floats that are narrower than f32 and do not share its exponent: narrow(bits of the mantissa,
// bias of the exponent, position of the sign). 0 for other types.
template <typename Narrow>
constexpr std::uint64_t in_narrow_float(DataType type, Narrow narrow) {
  switch (type) {
  case DataType::f16:
    return narrow(10, 15, 15);
  case DataType::f8e4m3:
    return narrow(3, 7, 7);
  case DataType::f8e5m2:
    return narrow(2, 15, 7);
  default:
    return 0;
  }
}

// Bits of a finite value in a floating-point type, rounded to nearest even, in the low bytes.
constexpr std::uint64_t encode(DataType type, double value) {
  // Drops `drop` low bits of an IEEE pattern, rounding to nearest even.
  auto round_off = [](std::uint64_t bits, int drop) {
    std::uint64_t half = (std::uint64_t{1} << (drop - 1)) - 1 + ((bits >> drop) & 1);
    return (bits + half) >> drop;
  };
  // A float with an exponent of this bias and a mantissa of this many bits.
  auto narrow = [&](int mantissa, int bias, int sign_bit) -> std::uint64_t {
    std::uint64_t bits = bits_of(value);
    std::uint64_t sign = bits >> 63 << sign_bit;
    bits &= ~(std::uint64_t{1} << 63);
    if (bits >> 52 > static_cast<std::uint64_t>(1023 - bias))
      return sign |
             round_off(bits - (static_cast<std::uint64_t>(1023 - bias) << 52), 52 - mantissa);
    // Subnormal: a multiple of the smallest.
    double units = (value < 0 ? -value : value) * power_of_two(bias - 1 + mantissa);
    auto whole = static_cast<std::uint64_t>(units);
    double rest = units - static_cast<double>(whole);
    return sign | (whole + (rest > 0.5 || (rest == 0.5 && whole % 2 == 1) ? 1 : 0));
  };
  if (type == DataType::f64)
    return bits_of(value);
  if (type == DataType::f32)
    return bits_of(static_cast<float>(value));
  if (type == DataType::bf16)
    return round_off(bits_of(static_cast<float>(value)), 16);
  return in_narrow_float(type, narrow); // integers are encoded from their units
}

// Exact except for a divisor that is no power of two. Numbers without a divisor are normal numbers
// of the type, or 0.
constexpr std::uint64_t encode(DataType type, const Number& number) {
  if (!is_float(type)) {
    std::uint64_t bits = static_cast<std::uint64_t>(number.units) & all_ones(type);
    return bits - (number.may_be_poison && bits == all_ones(type) ? 1 : 0);
  }
  if (type == DataType::f64 || number.divisor != 1)
    return encode(type, value_of(number));
  std::uint32_t bits =
      bits_of(static_cast<float>(static_cast<std::int32_t>(number.units)) *
              __builtin_bit_cast(float, static_cast<std::uint32_t>(127 + number.scale) << 23));
  auto narrow = [bits](int mantissa, int bias, int sign_bit) -> std::uint32_t {
    std::uint32_t magnitude = bits & 0x7FFFFFFF;
    std::uint32_t exponent_offset = static_cast<std::uint32_t>(127 - bias) << 23;
    return bits >> 31 << sign_bit |
           (magnitude == 0 ? 0 : (magnitude - exponent_offset) >> (23 - mantissa));
  };
  if (type == DataType::f32)
    return bits;
  if (type == DataType::bf16)
    return bits >> 16;
  return in_narrow_float(type, narrow);
}

} // namespace ncclprobe::model
