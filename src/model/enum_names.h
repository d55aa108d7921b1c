// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace ncclprobe::model {

// Every enumeration of the model has one table of names, used by the command line, JSON, HDF5 and
// the report alike: `enum_names(T)` returns an array of {value, name}, found by argument-dependent
// lookup. Order in the table is the order people see.
template <typename T> std::string_view to_string(T value) {
  for (const auto& [candidate, name] : enum_names(T{}))
    if (candidate == value) return name;
  return "?";
}

// Errors: invalid_argument, naming `what` and the legal words.
template <typename T> base::Result<T> parse_enum(std::string_view text, std::string_view what) {
  std::string legal;
  for (const auto& [value, name] : enum_names(T{})) {
    if (name == text) return value;
    legal += legal.empty() ? "" : ", ";
    legal += name;
  }
  return base::fail(base::Error{base::Errc::invalid_argument,
                                fmt::format("'{}' is not a {}", text, what), "known: " + legal});
}

} // namespace ncclprobe::model
