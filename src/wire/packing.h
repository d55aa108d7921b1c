// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Values to bytes and back, for payloads that JSON would bloat or break (opaque bytes, columns of
// numbers). Byte order is the machine's: all hosts of one run have the same.
namespace ncclprobe::wire {

class Packer {
public:
  template <typename T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number<std::uint64_t>(value.size());
    bytes_.append(value);
  }
  void numbers(const std::vector<int>& values) {
    number<std::uint64_t>(values.size());
    for (int value : values)
      number<std::int32_t>(value);
  }
  void texts_by_rank(const std::map<int, std::string>& values);
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

// Reads what a Packer wrote. Throws base::Exception (protocol) where the bytes end too early or a
// length cannot be true, so that no input makes it read or allocate beyond them.
class Unpacker {
public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number<std::uint64_t>())); }
  // How many elements of at least `element_bytes` each follow.
  std::size_t count(std::size_t element_bytes);
  std::vector<int> numbers();
  std::map<int, std::string> texts_by_rank();
  // Throws if bytes are left over.
  void expect_end() const;

private:
  std::string_view take(std::uint64_t size);
  std::string_view rest_;
};

} // namespace ncclprobe::wire
