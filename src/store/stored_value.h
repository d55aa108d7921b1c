// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/json_document.h"
#include "store/strings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

// A value of the model as a number in a column, and back.
namespace ncclprobe::store {

enum class Number : std::uint8_t { u8, i32, u32, i64, u64, f64 };
std::size_t bytes_of(Number number);

// --- which number stands for a value of a type ---

template <typename T>
struct Optional : std::false_type {
  using Value = T;
};
template <typename T>
struct Optional<std::optional<T>> : std::true_type {
  using Value = T;
};

// Texts, and values that are written as texts.
template <typename T>
inline constexpr bool k_is_text = !std::is_arithmetic_v<typename Optional<T>::Value> &&
                                  !std::is_enum_v<typename Optional<T>::Value>;

template <typename T>
constexpr auto stored_as() {
  using Value = typename Optional<T>::Value;
  if constexpr (k_is_text<T>)
    return std::uint32_t{}; // row in /strings
  else if constexpr (std::is_same_v<Value, bool> || std::is_enum_v<Value>)
    return std::uint8_t{};
  else
    return Value{};
}
template <typename T>
using StoredAs = decltype(stored_as<T>());

template <typename Stored>
constexpr Number number_of() {
  if constexpr (std::is_floating_point_v<Stored>)
    return Number::f64;
  else if constexpr (sizeof(Stored) == 1)
    return Number::u8;
  else if constexpr (sizeof(Stored) == 4)
    return std::is_signed_v<Stored> ? Number::i32 : Number::u32;
  else
    return std::is_signed_v<Stored> ? Number::i64 : Number::u64;
}

// The number for an absent value: the largest, of signed types the lowest.
template <typename T>
constexpr StoredAs<T> missing_value() {
  using Limits = std::numeric_limits<StoredAs<T>>;
  return std::is_signed_v<StoredAs<T>> ? Limits::lowest() : Limits::max();
}
template <typename T>
constexpr std::optional<std::uint64_t> missing_bits() {
  if (!Optional<T>::value)
    return std::nullopt;
  return static_cast<std::uint64_t>(missing_value<T>());
}

// Labels of an enumeration, by number; empty for other types.
template <typename T>
std::vector<std::string> labels_of() {
  using base::enum_names;
  std::vector<std::string> labels;
  if constexpr (std::is_enum_v<T>)
    for (const auto& [value, name] : enum_names(T{})) {
      auto number = static_cast<std::size_t>(value);
      labels.resize(std::max(labels.size(), number + 1));
      labels[number] = name;
    }
  return labels;
}

// --- values to numbers ---

std::string list_text(const std::vector<int>& values); // "0,1,5"

template <typename T>
StoredAs<T> to_stored(const T& value, Strings& strings) {
  if constexpr (Optional<T>::value)
    return value ? to_stored(*value, strings) : missing_value<T>();
  else if constexpr (std::is_same_v<T, std::string>)
    return strings.intern(value);
  else if constexpr (std::is_same_v<T, std::vector<int>>)
    return strings.intern(list_text(value));
  else if constexpr (k_is_text<T>)
    return strings.intern(base::json_or_cbor(base::writable(value)));
  else
    return static_cast<StoredAs<T>>(value);
}

// Writes the numbers of `count` values. `first` is the first; each next one lies `stride` bytes
// further.
using StoreValues = void (*)(const void* first, std::size_t stride, std::size_t count,
                             Strings& strings, std::byte* numbers);
template <typename T>
void store_values(const void* first, std::size_t stride, std::size_t count, Strings& strings,
                  std::byte* numbers) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto* at = static_cast<const std::byte*>(first) + i * stride;
    const StoredAs<T> number = to_stored(*reinterpret_cast<const T*>(at), strings);
    std::memcpy(numbers + i * sizeof number, &number, sizeof number);
  }
}

// --- numbers to values ---

// Context for loading the values of a file. One thread at a time.
class Loading {
public:
  explicit Loading(const Strings& strings) : strings_(&strings) {}

  // Sets how many more bytes records and their texts may take.
  void allow(std::uint64_t bytes) { bytes_left_ = bytes; }
  // Throws Exception (failed) beyond the limit, because a small file can unpack to any size.
  void charge(std::uint64_t bytes);

  const std::string& text(std::uint32_t number);
  // Parses each document once: the trials of a sweep share documents. Throws Exception.
  template <typename T>
  const T& document(std::uint32_t number) {
    const std::string& words = text(number);
    auto& parsed = documents_[{std::type_index(typeid(T)), number}];
    if (!parsed) {
      auto value = std::make_shared<T>();
      parse(words, base::readable(*value));
      parsed = std::move(value);
    }
    return *static_cast<const T*>(parsed.get());
  }

private:
  static void parse(const std::string& words, base::Readable value);

  const Strings* strings_;
  std::uint64_t bytes_left_ = UINT64_MAX;
  std::map<std::pair<std::type_index, std::uint32_t>, std::shared_ptr<const void>> documents_;
};

std::vector<int> parse_list(const std::string& text); // throws Exception (failed)

template <typename T>
void from_stored(StoredAs<T> number, T& value, Loading& loading) {
  if constexpr (Optional<T>::value) {
    if (number == missing_value<T>())
      value.reset();
    else
      from_stored(number, value.emplace(), loading);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = loading.text(number);
  } else if constexpr (std::is_same_v<T, std::vector<int>>) {
    value = parse_list(loading.text(number));
  } else if constexpr (k_is_text<T>) {
    value = loading.document<T>(number);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = number != 0;
  } else {
    value = static_cast<T>(number);
  }
}

// Counterpart of StoreValues. Throws Exception.
using LoadValues = void (*)(const std::byte* numbers, std::size_t count, Loading& loading,
                            void* first, std::size_t stride);
template <typename T>
void load_values(const std::byte* numbers, std::size_t count, Loading& loading, void* first,
                 std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    StoredAs<T> number;
    std::memcpy(&number, numbers + i * sizeof number, sizeof number);
    auto* at = static_cast<std::byte*>(first) + i * stride;
    from_stored(number, *reinterpret_cast<T*>(at), loading);
  }
}

} // namespace ncclprobe::store
