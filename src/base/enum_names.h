// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace ncclprobe::base {

template <typename T, T... values>
constexpr std::string_view spelled() {
  return __PRETTY_FUNCTION__; // "... values = {Colour::red, Colour::green, (Colour)2, ..."
}

template <typename T, int... numbers>
constexpr auto names_and_count(std::integer_sequence<int, numbers...>) {
  constexpr std::string_view all = spelled<T, static_cast<T>(numbers)...>();
  std::pair<std::array<std::pair<T, std::string_view>, sizeof...(numbers)>, std::size_t> found{};
  auto& [names, count] = found;
  std::size_t at = all.find("values = ") + sizeof("values = ");
  for (; all[at] != '(' && count < names.size(); ++count) { // "(" is a number without a name
    std::string_view name = all.substr(at, all.find(',', at) - at);
    names[count].first = static_cast<T>(count);
    names[count].second = name.substr(name.rfind(':') + 1);
    at += name.size() + sizeof(",");
  }
  return found;
}

// Every enumeration that people or files see has one table of names, which the command line, JSON,
// HDF5 and the report share: `enum_names(T{})` returns an array of {value, name}. People see the
// names in this order. The names are those of the enumerators, which count from 0 without gaps. An
// enumeration with other names overloads the function in its namespace.
// (parse_enum.h reads names. It is separate, so this header needs only the standard library
// and CUDA kernels can use the enumerations. It is C++17, the newest that CUDA 11 reads.)
template <typename T>
constexpr auto enum_names(T) {
  constexpr auto found = names_and_count<T>(std::make_integer_sequence<int, 32>());
  static_assert(found.second > 0 && found.second < found.first.size());
  std::array<std::pair<T, std::string_view>, found.second> names{};
  for (std::size_t i = 0; i < names.size(); ++i) { // in C++17 pairs cannot be assigned here
    names[i].first = found.first[i].first;
    names[i].second = found.first[i].second;
  }
  return names;
}

template <typename T>
std::string_view to_string(T value) {
  static constexpr auto names = enum_names(T{});
  for (const auto& [candidate, name] : names)
    if (candidate == value)
      return name;
  return "?";
}

} // namespace ncclprobe::base
