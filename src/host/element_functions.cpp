// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/element_functions.h"

#include "host/with_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace ncclprobe::host {

using model::DataType;
using model::ReduceOp;

// Both f16 conversions are branch-free, so the compiler can vectorise the loops that use them.
// They shift the bits into place; one float multiplication or addition handles the exponent,
// subnormals and rounding.
float float_from_f16(std::uint16_t bits) {
  std::uint32_t shifted = std::uint32_t{bits} << 16;
  std::uint32_t sign = shifted & 0x8000'0000U;
  std::uint32_t magnitude = shifted << 1;
  float normal = std::bit_cast<float>((magnitude >> 4) + (0xE0U << 23)) * 0x1.0p-112F;
  float subnormal = std::bit_cast<float>((magnitude >> 17) | (126U << 23)) - 0.5F;
  std::uint32_t value = std::bit_cast<std::uint32_t>(magnitude < (1U << 27) ? subnormal : normal);
  return std::bit_cast<float>(sign | value);
}

std::uint16_t f16_from_float(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t magnitude = bits << 1;
  std::uint32_t exponent = magnitude & 0xFF00'0000U;
  if (exponent < 0x7100'0000U)
    exponent = 0x7100'0000U;
  float scaled =
      (std::fabs(value) * 0x1.0p+112F) * 0x1.0p-110F; // overflows to infinity where f16 does
  std::uint32_t rounded =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>((exponent >> 1) + 0x0780'0000U) + scaled);
  std::uint32_t result = ((rounded >> 13) & 0x7C00U) + (rounded & 0x0FFFU);
  if (magnitude > 0xFF00'0000U)
    result = 0x7E00U; // not a number
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000U) | result);
}

float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t bf16_from_float(float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  bool not_a_number = (bits & 0x7FFF'FFFFU) > 0x7F80'0000U;
  return static_cast<std::uint16_t>(not_a_number ? 0x7FC0U : rounded);
}

namespace {

// An 8-bit float: the number of mantissa bits, the exponent's bias, and the bits of the largest
// number.
struct Format8 {
  int mantissa;
  int bias;
  std::uint8_t largest;
};
constexpr Format8 k_f8e4m3{3, 7, 0x7E};
constexpr Format8 k_f8e5m2{2, 15, 0x7B};
constexpr std::uint8_t k_f8_not_a_number = 0x7F; // in both

float float_from_f8(Format8 format, std::uint8_t bits) {
  int magnitude = bits & 0x7F;
  int exponent = magnitude >> format.mantissa;
  int fraction = magnitude & ((1 << format.mantissa) - 1);
  float value = 0;
  if (magnitude > format.largest)
    value = magnitude == format.largest + 1 && format.mantissa == 2
                ? std::numeric_limits<float>::infinity()
                : std::numeric_limits<float>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<float>(fraction), 1 - format.bias - format.mantissa);
  else
    value = std::ldexp(static_cast<float>(fraction + (1 << format.mantissa)),
                       exponent - format.bias - format.mantissa);
  return bits >= 0x80 ? -value : value;
}

std::uint8_t f8_from_float(Format8 format, float value) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  std::uint32_t offset = static_cast<std::uint32_t>(127 - format.bias) << 23;
  std::uint32_t result = k_f8_not_a_number;
  if (magnitude <= offset + 0x7F'FFFFU) { // subnormal: a multiple of the smallest
    result = static_cast<std::uint32_t>(
        std::nearbyint(std::ldexp(std::fabs(value), format.bias - 1 + format.mantissa)));
  } else if (magnitude <= 0x7F80'0000U) {
    int drop = 23 - format.mantissa;
    std::uint32_t half = (1U << (drop - 1)) - 1 + ((magnitude >> drop) & 1U);
    result = std::min<std::uint32_t>((magnitude - offset + half) >> drop, format.largest);
  }
  return static_cast<std::uint8_t>((bits >> 24 & 0x80U) | result);
}

template <Format8 format>
float table_lookup(std::uint8_t bits) {
  static const auto table = [] {
    std::array<float, 256> values{};
    for (unsigned i = 0; i < 256; ++i)
      values[i] = float_from_f8(format, static_cast<std::uint8_t>(i));
    return values;
  }();
  return table[bits];
}

} // namespace

float float_from_f8e4m3(std::uint8_t bits) {
  return table_lookup<k_f8e4m3>(bits);
}
std::uint8_t f8e4m3_from_float(float value) {
  return f8_from_float(k_f8e4m3, value);
}
float float_from_f8e5m2(std::uint8_t bits) {
  return table_lookup<k_f8e5m2>(bits);
}
std::uint8_t f8e5m2_from_float(float value) {
  return f8_from_float(k_f8e5m2, value);
}

namespace {

// The type of an element in memory (Stored) and the type of its computation.
template <DataType type>
struct Element;
template <typename T>
struct PlainElement {
  using Stored = T;
  static T load(T stored) { return stored; }
  static T store(T value) { return value; }
};
template <>
struct Element<DataType::f32> : PlainElement<float> {};
template <>
struct Element<DataType::f64> : PlainElement<double> {};
template <>
struct Element<DataType::i32> : PlainElement<std::int32_t> {};
template <>
struct Element<DataType::u8> : PlainElement<std::uint8_t> {};
template <>
struct Element<DataType::i8> : PlainElement<std::int8_t> {};
template <>
struct Element<DataType::u32> : PlainElement<std::uint32_t> {};
template <>
struct Element<DataType::i64> : PlainElement<std::int64_t> {};
template <>
struct Element<DataType::u64> : PlainElement<std::uint64_t> {};
template <>
struct Element<DataType::f8e4m3> {
  using Stored = std::uint8_t;
  static float load(Stored bits) { return float_from_f8e4m3(bits); }
  static Stored store(float value) { return f8e4m3_from_float(value); }
};
template <>
struct Element<DataType::f8e5m2> {
  using Stored = std::uint8_t;
  static float load(Stored bits) { return float_from_f8e5m2(bits); }
  static Stored store(float value) { return f8e5m2_from_float(value); }
};
template <>
struct Element<DataType::f16> {
  using Stored = std::uint16_t;
  static float load(Stored bits) { return float_from_f16(bits); }
  static Stored store(float value) { return f16_from_float(value); }
};
template <>
struct Element<DataType::bf16> {
  using Stored = std::uint16_t;
  static float load(Stored bits) { return float_from_bf16(bits); }
  static Stored store(float value) { return bf16_from_float(value); }
};

template <typename T, ReduceOp op>
T combine(T a, T b) {
  if constexpr (op == ReduceOp::max)
    return a < b ? b : a;
  else if constexpr (op == ReduceOp::min)
    return b < a ? b : a;
  else if constexpr (std::is_integral_v<T>) // wraps around, as on a GPU
    return static_cast<T>(op == ReduceOp::prod
                              ? static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)
                              : static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return op == ReduceOp::prod ? a * b : a + b;
}

template <DataType type, ReduceOp op>
void reduce_elements(void* out, const void* a, const void* b, std::size_t count) {
  using E = Element<type>;
  auto* result = static_cast<typename E::Stored*>(out);
  const auto* left = static_cast<const typename E::Stored*>(a);
  const auto* right = static_cast<const typename E::Stored*>(b);
  using Value = decltype(E::load(*left));
  for (std::size_t i = 0; i < count; ++i)
    result[i] = E::store(combine<Value, op>(E::load(left[i]), E::load(right[i])));
}

// change(Value) for each element.
template <DataType type, typename Change>
void change_elements(void* data, std::size_t count, Change change) {
  using E = Element<type>;
  auto* elements = static_cast<typename E::Stored*>(data);
  using Value = decltype(E::load(*elements));
  for (std::size_t i = 0; i < count; ++i)
    elements[i] = E::store(static_cast<Value>(change(E::load(elements[i]))));
}

template <DataType type>
void finish_elements(void* data, ReduceOp op, std::size_t count, int ranks) {
  using Value = decltype(Element<type>::load({}));
  if (op == ReduceOp::premul_sum)
    return change_elements<type>(data, count, [](Value value) {
      return combine<Value, ReduceOp::prod>(value, static_cast<Value>(model::k_premul_scalar));
    });
  // The number of ranks may exceed a byte.
  using Wide = std::conditional_t<std::is_integral_v<Value> && sizeof(Value) == 1, int, Value>;
  change_elements<type>(data, count, [ranks = static_cast<Wide>(ranks)](Value value) {
    return static_cast<Wide>(value) / ranks;
  });
}

template <DataType type>
ReduceFunction reduce_function_of(ReduceOp op) {
  switch (op) {
  case ReduceOp::max:
    return reduce_elements<type, ReduceOp::max>;
  case ReduceOp::min:
    return reduce_elements<type, ReduceOp::min>;
  case ReduceOp::prod:
    return reduce_elements<type, ReduceOp::prod>;
  case ReduceOp::sum:
  case ReduceOp::avg:
  case ReduceOp::premul_sum:
    break;
  }
  return reduce_elements<type, ReduceOp::sum>;
}

} // namespace

void to_floats(DataType type, const void* from, float* into, std::size_t count) {
  const auto* halves = static_cast<const std::uint16_t*>(from);
  if (type == DataType::f32)
    std::memcpy(into, from, count * sizeof *into);
  else if (type == DataType::f16)
    std::transform(halves, halves + count, into, float_from_f16);
  else
    std::transform(halves, halves + count, into, float_from_bf16);
}

void from_floats(DataType type, const float* from, void* into, std::size_t count) {
  auto* halves = static_cast<std::uint16_t*>(into);
  if (type == DataType::f32)
    std::memcpy(into, from, count * sizeof *from);
  else if (type == DataType::f16)
    std::transform(from, from + count, halves, f16_from_float);
  else
    std::transform(from, from + count, halves, bf16_from_float);
}

ReduceFunction reduce_function(DataType type, ReduceOp op) {
  return with_type(type, [&]<DataType t>() { return reduce_function_of<t>(op); });
}

void finish_reduction(void* data, DataType type, ReduceOp op, std::size_t count, int ranks) {
  if (op != ReduceOp::avg && op != ReduceOp::premul_sum)
    return;
  with_type(type, [&]<DataType t>() { finish_elements<t>(data, op, count, ranks); });
}

} // namespace ncclprobe::host
