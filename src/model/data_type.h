// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

#include <cstddef>

namespace ncclprobe::model {

enum class DataType { f32, f16, bf16, f64, i32, u8 };

constexpr auto enum_names(DataType) {
  using enum DataType;
  return std::to_array<std::pair<DataType, std::string_view>>(
      {{f32, "f32"}, {f16, "f16"}, {bf16, "bf16"}, {f64, "f64"}, {i32, "i32"}, {u8, "u8"}});
}

constexpr std::size_t size_bytes(DataType type) {
  switch (type) {
  case DataType::u8:
    return 1;
  case DataType::f16:
  case DataType::bf16:
    return 2;
  case DataType::f32:
  case DataType::i32:
    return 4;
  case DataType::f64:
    return 8;
  }
  return 0;
}

constexpr bool is_float(DataType type) {
  return type != DataType::i32 && type != DataType::u8;
}

} // namespace ncclprobe::model
