// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/element_damage.h"

#include "host/element_functions.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ncclprobe::support {

using model::DataType;

namespace {

template <typename T, typename Change>
void change_each(std::byte* data, std::uint64_t count, Change change) {
  for (std::uint64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    value = change(value);
    std::memcpy(data + i * sizeof value, &value, sizeof value);
  }
}

float limited(float value, float largest) {
  return std::clamp(value, -largest, largest);
}

} // namespace

void round_to_narrower(DataType type, std::byte* data, std::uint64_t count) {
  using namespace host;
  auto in_f16 = [](float value) { return float_from_f16(f16_from_float(limited(value, 65504))); };
  switch (type) {
  case DataType::f64:
    return change_each<double>(
        data, count, [](double value) { return static_cast<double>(static_cast<float>(value)); });
  case DataType::f32:
    return change_each<float>(data, count, in_f16);
  case DataType::bf16:
    return change_each<std::uint16_t>(data, count, [&](std::uint16_t bits) {
      return bf16_from_float(in_f16(float_from_bf16(bits)));
    });
  case DataType::f16:
    return change_each<std::uint16_t>(data, count, [](std::uint16_t bits) {
      return f16_from_float(float_from_bf16(bf16_from_float(float_from_f16(bits))));
    });
  case DataType::f8e4m3:
    return change_each<std::uint8_t>(data, count, [](std::uint8_t bits) {
      return f8e4m3_from_float(float_from_f8e5m2(f8e5m2_from_float(float_from_f8e4m3(bits))));
    });
  default:
    return change_each<std::uint8_t>(data, count, [](std::uint8_t bits) {
      return f8e5m2_from_float(float_from_f8e4m3(f8e4m3_from_float(float_from_f8e5m2(bits))));
    });
  }
}

void clear_upper_half(DataType type, std::byte* data, std::uint64_t count) {
  if (size_bytes(type) == 1)
    return change_each<std::uint8_t>(
        data, count, [](std::uint8_t bits) { return static_cast<std::uint8_t>(bits & 0x0F); });
  std::size_t half = size_bytes(type) / 2;
  for (std::uint64_t i = 0; i < count; ++i) // little-endian
    std::memset(data + i * 2 * half + half, 0, half);
}

void drop_signs(DataType type, std::byte* data, std::uint64_t count) {
  if (is_float(type)) {
    for (std::uint64_t i = 1; i <= count; ++i)
      data[i * size_bytes(type) - 1] &= std::byte{0x7F};
    return;
  }
  auto positive = [](auto value) {
    return static_cast<decltype(value)>(value < 0 ? -value : value);
  };
  if (type == DataType::i8)
    change_each<std::int8_t>(data, count, positive);
  else if (type == DataType::i32)
    change_each<std::int32_t>(data, count, positive);
  else if (type == DataType::i64)
    change_each<std::int64_t>(data, count, positive);
}

void count_twice(DataType type, model::ReduceOp op, std::byte* data, std::uint64_t count) {
  host::reduce_function(type, op)(data, data, data, count);
}

} // namespace ncclprobe::support
