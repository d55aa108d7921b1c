// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/enum_names.h"
#include "base/error.h"

namespace ncclprobe::base {

// Errors: invalid_argument, naming `what` and the valid words.
template <typename T>
Result<T> parse_enum(std::string_view text, std::string_view what) {
  std::string legal;
  for (const auto& [value, name] : enum_names(T{})) {
    if (name == text)
      return value;
    legal += legal.empty() ? "" : ", ";
    legal += name;
  }
  return fail(Error{Errc::invalid_argument, fmt::format("'{}' is not a {}", text, what),
                    "known: " + legal});
}

} // namespace ncclprobe::base
