// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace ncclprobe::base {

// The value at an offset of a file's bytes; nothing if it extends past their end.
template <typename T>
std::optional<T> value_at(std::string_view bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The text from an offset up to a zero byte or to the end of the bytes.
inline std::string_view text_at(std::string_view bytes, std::uint64_t offset) {
  if (offset >= bytes.size())
    return {};
  bytes.remove_prefix(offset);
  return bytes.substr(0, bytes.find('\0'));
}

} // namespace ncclprobe::base
