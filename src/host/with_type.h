// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/data_type.h"

namespace ncclprobe::host {

// Calls a template lambda, `[]<model::DataType type>() { ... }`, for a type known at run time. The
// type is dispatched once per buffer, not once per element.
template <typename Run>
auto with_type(model::DataType type, Run run) {
  switch (type) {
  case model::DataType::f32:
    return run.template operator()<model::DataType::f32>();
  case model::DataType::f16:
    return run.template operator()<model::DataType::f16>();
  case model::DataType::bf16:
    return run.template operator()<model::DataType::bf16>();
  case model::DataType::f64:
    return run.template operator()<model::DataType::f64>();
  case model::DataType::i32:
    return run.template operator()<model::DataType::i32>();
  case model::DataType::i8:
    return run.template operator()<model::DataType::i8>();
  case model::DataType::u32:
    return run.template operator()<model::DataType::u32>();
  case model::DataType::i64:
    return run.template operator()<model::DataType::i64>();
  case model::DataType::u64:
    return run.template operator()<model::DataType::u64>();
  case model::DataType::f8e4m3:
    return run.template operator()<model::DataType::f8e4m3>();
  case model::DataType::f8e5m2:
    return run.template operator()<model::DataType::f8e5m2>();
  case model::DataType::u8:
    break;
  }
  return run.template operator()<model::DataType::u8>();
}

} // namespace ncclprobe::host
