// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace ncclprobe::base {

// Every enumeration that people or files see has one table of names, which the command line, JSON,
// HDF5 and the report share: `enum_names(T)` returns an array of {value, name}, found by
// argument-dependent lookup. People see the names in this order. (parse_enum.h reads names. It is
// separate so that this header needs only the standard library and CUDA kernels can use the
// enumerations; those that they use are written in C++17, the newest that CUDA 11 reads.)
template <typename T>
std::string_view to_string(T value) {
  for (const auto& [candidate, name] : enum_names(T{}))
    if (candidate == value)
      return name;
  return "?";
}

} // namespace ncclprobe::base
