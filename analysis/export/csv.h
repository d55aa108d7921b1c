// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"

#include "base/csv.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

// Tables of a trace as CSV: a column "rank"; in tables with times "aligned_ns" (the start on the
// common clock, as in the pictures); then the table's own columns, with texts and codes as words.
namespace ncclprobe::analysis::trace_export {

template <typename Row>
std::string csv_heading() {
  std::string line = trace::Timed<Row> ? "rank,aligned_ns" : "rank";
  std::apply([&](const auto&... column) { ((line += ',', line += column.name), ...); },
             columns(Row{}));
  return line + "\r\n";
}

// "communication|helper"
template <typename Row>
std::string flag_words(const Row& row) {
  std::string words;
  for (std::size_t bit = 0; bit < trace::k_flag_names.size(); ++bit)
    if (row.flags & 1 << bit)
      words.append(words.empty() ? "" : "|").append(trace::k_flag_names[bit]);
  return words;
}

// `begin_of` is called for rows with times; nothing: unknown.
template <typename Row, typename TextOf, typename BeginOf>
void append_csv(std::string& to, int rank, const std::vector<Row>& rows, TextOf text_of,
                BeginOf begin_of) {
  auto number = [&](auto value) {
    char digits[24];
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  auto add = [&](const Row& row, const auto& column) {
    const auto& value = row.*column.field;
    using T = std::decay_t<decltype(value)>;
    to += ',';
    if constexpr (requires { row.flags; })
      if (std::string_view(column.name) == "flags") {
        to += flag_words(row);
        return;
      }
    if constexpr (std::is_same_v<T, trace::TextId>)
      to += base::csv_field(std::string(text_of(value)));
    else if constexpr (std::is_enum_v<T>)
      to += base::to_string(value);
    else
      number(value);
  };
  for (const Row& row : rows) {
    number(rank);
    if constexpr (trace::Timed<Row>) {
      to += ',';
      if (const std::optional<std::int64_t> begin = begin_of(row))
        number(*begin);
    }
    std::apply([&](const auto&... column) { (add(row, column), ...); }, columns(Row{}));
    to += "\r\n";
  }
}

} // namespace ncclprobe::analysis::trace_export
