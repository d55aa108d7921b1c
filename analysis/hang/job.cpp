// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/job.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace ncclprobe::analysis::hang {
namespace {

struct TypeName {
  std::string_view of_source; // in lower case, without "nccl"
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array k_types{TypeName{"float", "float32", 4},
                             TypeName{"float32", "float32", 4},
                             TypeName{"half", "float16", 2},
                             TypeName{"float16", "float16", 2},
                             TypeName{"bfloat16", "bfloat16", 2},
                             TypeName{"double", "float64", 8},
                             TypeName{"float64", "float64", 8},
                             TypeName{"int", "int32", 4},
                             TypeName{"int32", "int32", 4},
                             TypeName{"uint32", "uint32", 4},
                             TypeName{"long", "int64", 8},
                             TypeName{"int64", "int64", 8},
                             TypeName{"uint64", "uint64", 8},
                             TypeName{"char", "int8", 1},
                             TypeName{"int8", "int8", 1},
                             TypeName{"byte", "uint8", 1},
                             TypeName{"uint8", "uint8", 1},
                             TypeName{"bool", "bool", 1},
                             TypeName{"float8e4m3", "float8_e4m3", 1},
                             TypeName{"float8_e4m3fn", "float8_e4m3", 1},
                             TypeName{"float8e5m2", "float8_e5m2", 1},
                             TypeName{"float8_e5m2", "float8_e5m2", 1}};

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}
bool is_upper(char letter) {
  return std::isupper(static_cast<unsigned char>(letter)) != 0;
}

} // namespace

std::string function_name(std::string_view of_source) {
  if (of_source == "Recv")
    return "receive";
  if (of_source == "AlltoAll" || of_source == "AllToAll")
    return "all_to_all";
  of_source.remove_prefix(of_source.starts_with("nccl:") ? 5 : 0);
  of_source.remove_prefix(std::min(of_source.find_first_not_of('_'), of_source.size()));
  std::string name;
  for (const char letter : of_source) {
    if (is_upper(letter) && !name.empty() && name.back() != '_')
      name += '_';
    name += lower(letter);
  }
  return name;
}

std::string type_name(std::string_view of_source) {
  of_source.remove_prefix(of_source.starts_with("nccl") ? 4 : 0);
  std::string name;
  std::ranges::transform(of_source, std::back_inserter(name), lower);
  for (const TypeName& type : k_types)
    if (type.of_source == name)
      return std::string(type.name);
  return name;
}

std::uint64_t type_bytes(std::string_view type) {
  for (const TypeName& known : k_types)
    if (known.name == type)
      return known.bytes;
  return 0;
}

} // namespace ncclprobe::analysis::hang
