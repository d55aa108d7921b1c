// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/table.h"

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

// The ranges that a program marks with NVTX.
namespace ncclprobe::trace {

// nested: pushed and popped by one thread. free: started and ended anywhere.
enum class RangeKind : std::uint8_t { nested, free };
// /range: a range that began and ended while it was recorded
struct RangeRow {
  static constexpr Table k_table = Table::range;
  std::uint64_t start_ns = 0, end_ns = 0;
  TextId name;
  TextId domain;
  std::uint32_t thread = 0;
  std::uint8_t level = 0;
  RangeKind kind = RangeKind::nested;
};
template <std::same_as<RangeRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("name", &R::name, "name of the NVTX range, row in /strings; 0: none"),
      base::column("domain", &R::domain, "NVTX domain, row in /strings; 0: the default domain"),
      base::column("start_ns", &R::start_ns, "start time on the host, ns"),
      base::column("end_ns", &R::end_ns, "end time on the host, ns"),
      base::column("thread", &R::thread, "thread id, of the thread that ended it"),
      base::column("level", &R::level, "number of ranges of the thread that contain it; free: 0"),
      base::column("kind", &R::kind,
                   "nested: pushed and popped by one thread; free: started and ended anywhere"));
}

// Writes the name with '#' for each number: "iteration 17" becomes "iteration #". `to` must have
// room for the name. Returns the number of letters.
constexpr std::size_t write_without_numbers(std::string_view name, char* to) {
  std::size_t letters = 0;
  for (const char letter : name) {
    const bool is_digit = letter >= '0' && letter <= '9';
    if (!is_digit)
      to[letters++] = letter;
    else if (letters == 0 || to[letters - 1] != '#')
      to[letters++] = '#';
  }
  return letters;
}
inline std::string without_numbers(std::string_view name) {
  std::string text(name.size(), '\0');
  text.resize(write_without_numbers(name, text.data()));
  return text;
}

} // namespace ncclprobe::trace
