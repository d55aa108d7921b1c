// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>

namespace ncclprobe::trace {

// The size of an element by NCCL's name of its type, "ncclBfloat16": 2. 0: unknown.
inline std::uint64_t bytes_of_nccl_type(std::string_view name) {
  auto digit = std::ranges::find_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  std::uint64_t bits = 0;
  for (; digit != name.end() && std::isdigit(static_cast<unsigned char>(*digit)); ++digit)
    bits = bits * 10 + static_cast<std::uint64_t>(*digit - '0');
  return bits / 8;
}

} // namespace ncclprobe::trace
