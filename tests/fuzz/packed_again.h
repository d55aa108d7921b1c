// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wire/packing.h"

#include <cstdlib>
#include <optional>
#include <string_view>

namespace ncclprobe::fuzz {

// A value that was read is the same after it was sent again. Nothing if these bytes are no such
// value.
template <typename T>
std::optional<T> packed_again(std::string_view bytes) {
  T value;
  try {
    value = wire::unpack<T>(bytes);
  } catch (const Exception&) {
    return std::nullopt;
  }
  const std::string sent = wire::pack(value);
  if (wire::pack(wire::unpack<T>(sent)) != sent)
    std::abort();
  return value;
}

} // namespace ncclprobe::fuzz
