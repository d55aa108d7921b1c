// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

#include <cstddef>

namespace ncclprobe::model {

// f8e4m3 and f8e5m2 have 8 bits, with as many bits of exponent (e) and mantissa (m) as the name
// says. Stored by number: append only.
enum class DataType { f32, f16, bf16, f64, i32, u8, i8, u32, i64, u64, f8e4m3, f8e5m2 };

constexpr std::size_t size_bytes(DataType type) {
  switch (type) {
  case DataType::u8:
  case DataType::i8:
  case DataType::f8e4m3:
  case DataType::f8e5m2:
    return 1;
  case DataType::f16:
  case DataType::bf16:
    return 2;
  case DataType::f32:
  case DataType::i32:
  case DataType::u32:
    return 4;
  case DataType::f64:
  case DataType::i64:
  case DataType::u64:
    return 8;
  }
  return 0;
}

constexpr bool is_unsigned(DataType type) {
  return type == DataType::u8 || type == DataType::u32 || type == DataType::u64;
}

constexpr bool is_float(DataType type) {
  switch (type) {
  case DataType::i8:
  case DataType::u8:
  case DataType::i32:
  case DataType::u32:
  case DataType::i64:
  case DataType::u64:
    return false;
  default:
    return true;
  }
}

constexpr bool is_f8(DataType type) {
  return type == DataType::f8e4m3 || type == DataType::f8e5m2;
}

} // namespace ncclprobe::model
