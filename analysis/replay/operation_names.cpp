// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/replay/operation_names.h"

#include "analysis/hang/job.h"

#include <array>
#include <string>
#include <utility>

namespace ncclprobe::analysis::replay {

using model::Collective, model::DataType;

std::optional<Collective> collective_of(std::string_view function) {
  const std::string name = hang::function_name(function);
  for (const auto& [value, known] : enum_names(Collective{}))
    if (known == name && is_one_call(value))
      return value;
  return std::nullopt;
}

std::optional<DataType> data_type_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, DataType>, 13> k_names{
      {{"float32", DataType::f32},
       {"float16", DataType::f16},
       {"bfloat16", DataType::bf16},
       {"float64", DataType::f64},
       {"int32", DataType::i32},
       {"uint32", DataType::u32},
       {"int64", DataType::i64},
       {"uint64", DataType::u64},
       {"int8", DataType::i8},
       {"uint8", DataType::u8},
       {"bool", DataType::u8},
       {"float8_e4m3", DataType::f8e4m3},
       {"float8_e5m2", DataType::f8e5m2}}};
  const std::string name = hang::type_name(type);
  for (const auto& [known, value] : k_names)
    if (known == name)
      return value;
  return std::nullopt;
}

} // namespace ncclprobe::analysis::replay
