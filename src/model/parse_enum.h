// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/enum_names.h"

namespace ncclprobe::model {

// Errors: invalid_argument, naming `what` and the legal words.
template <typename T>
base::Result<T> parse_enum(std::string_view text, std::string_view what) {
  std::string legal;
  for (const auto& [value, name] : enum_names(T{})) {
    if (name == text)
      return value;
    legal += legal.empty() ? "" : ", ";
    legal += name;
  }
  return base::fail(base::Error{base::Errc::invalid_argument,
                                fmt::format("'{}' is not a {}", text, what), "known: " + legal});
}

} // namespace ncclprobe::model
