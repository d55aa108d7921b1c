// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/element_functions.h"

#include <bit>
#include <cmath>
#include <type_traits>

namespace ncclprobe::host {

using model::DataType;
using model::ReduceOp;

// Both f16 conversions are without branches, so that the compiler can vectorise the loops that use
// them: they shift the bits into place and let one multiplication or addition of floats do the
// exponent, the subnormals and the rounding.
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

// How an element lies in memory (Stored) and what it is computed in.
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
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  else
    return a + b;
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

template <DataType type>
void divide_elements(void* data, std::size_t count, int ranks) {
  using E = Element<type>;
  auto* elements = static_cast<typename E::Stored*>(data);
  using Value = decltype(E::load(*elements));
  for (std::size_t i = 0; i < count; ++i)
    elements[i] = E::store(static_cast<Value>(E::load(elements[i]) / static_cast<Value>(ranks)));
}

template <DataType type>
ReduceFunction reduce_function_of(ReduceOp op) {
  switch (op) {
  case ReduceOp::max:
    return reduce_elements<type, ReduceOp::max>;
  case ReduceOp::min:
    return reduce_elements<type, ReduceOp::min>;
  case ReduceOp::sum:
  case ReduceOp::avg:
    break;
  }
  return reduce_elements<type, ReduceOp::sum>;
}

} // namespace

ReduceFunction reduce_function(DataType type, ReduceOp op) {
  switch (type) {
  case DataType::f32:
    return reduce_function_of<DataType::f32>(op);
  case DataType::f16:
    return reduce_function_of<DataType::f16>(op);
  case DataType::bf16:
    return reduce_function_of<DataType::bf16>(op);
  case DataType::f64:
    return reduce_function_of<DataType::f64>(op);
  case DataType::i32:
    return reduce_function_of<DataType::i32>(op);
  case DataType::u8:
    break;
  }
  return reduce_function_of<DataType::u8>(op);
}

void divide_by_ranks(void* data, DataType type, std::size_t count, int ranks) {
  switch (type) {
  case DataType::f32:
    return divide_elements<DataType::f32>(data, count, ranks);
  case DataType::f16:
    return divide_elements<DataType::f16>(data, count, ranks);
  case DataType::bf16:
    return divide_elements<DataType::bf16>(data, count, ranks);
  case DataType::f64:
    return divide_elements<DataType::f64>(data, count, ranks);
  case DataType::i32:
    return divide_elements<DataType::i32>(data, count, ranks);
  case DataType::u8: {
    // 256 ranks and more do not fit a u8.
    auto* elements = static_cast<std::uint8_t*>(data);
    for (std::size_t i = 0; i < count; ++i)
      elements[i] = static_cast<std::uint8_t>(elements[i] / ranks);
  }
  }
}

} // namespace ncclprobe::host
